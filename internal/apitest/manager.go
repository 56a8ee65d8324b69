package apitest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// controllerManager is the program; the garbage collector and the deletion of namespaces are its controllers.
const controllerManager = "kube-controller-manager"

// managerStopTimeout is how long the program may take to end before it is killed.
const managerStopTimeout = time.Minute

// StartGarbageCollector runs Kubernetes' own garbage collector and namespace controller until the test ends. It skips the test when
// the program is missing.
func (s *Server) StartGarbageCollector(t testing.TB) {
	t.Helper()
	program := assetPath(t, controllerManager)
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(kubeconfigOf(s.Config), kubeconfig))
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0", "--cert-dir="+dir,
		"--controllers=garbage-collector-controller,namespace-controller", "--kube-api-qps=500", "--kube-api-burst=1000")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = managerStopTimeout
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		stop()
		<-ended
		if t.Failed() {
			t.Logf("the end of what %s logged:\n%s", controllerManager, log.Bytes()[max(0, log.Len()-4096):])
		}
	})
}

// assetPath is where a program of the control plane is.
func assetPath(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv(assetsVariable)
	if dir == "" {
		root, err := moduleRoot()
		require.NoError(t, err)
		dir = filepath.Join(root, "build", "bin")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("reason: %s is missing; run make workloads", path)
	}
	return path
}

// kubeconfigOf says in a file what a configuration says.
func kubeconfigOf(c *rest.Config) clientcmdapi.Config {
	const name = "test"
	out := clientcmdapi.NewConfig()
	out.Clusters[name] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData}
	out.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData, Token: c.BearerToken}
	out.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	out.CurrentContext = name
	return *out
}
