package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// binaries links the built programs into a directory; the test needs no node agent that works.
func binaries(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"etcd", "kube-apiserver"} {
		built, err := filepath.Abs(filepath.Join("../../build/bin", name))
		require.NoError(t, err)
		if _, err := os.Stat(built); err != nil {
			t.Skipf("reason: %s is not built; make controlplane builds it", name)
		}
		t.Attr("uses", name)
		require.NoError(t, os.Symlink(built, filepath.Join(dir, name)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nodelet"), nil, 0o755))
	return dir
}

// TestProvisionPreparesADatabaseThatBoots runs the real programs on loopback: about ten seconds.
func TestProvisionPreparesADatabaseThatBoots(t *testing.T) {
	if testing.Short() {
		t.Skip("reason: starts etcd and kube-apiserver; run without -short")
	}
	node := t.TempDir()
	p := Provisioning{Etc: filepath.Join(node, "etc"), Var: filepath.Join(node, "var"), OutDir: filepath.Join(node, "out"),
		BinDir: binaries(t), Agent: Nodelet, ModuleDir: "../..", CacheDir: t.TempDir()}
	require.NoError(t, Provision(t.Context(), p))
	first, err := os.ReadFile(filepath.Join(p.OutDir, "kubeconfig"))
	require.NoError(t, err)
	require.Contains(t, string(first), "server: https://192.0.2.10:6443")

	require.NoError(t, Provision(t.Context(), p))
	second, err := os.ReadFile(filepath.Join(p.OutDir, "kubeconfig"))
	require.NoError(t, err)
	require.Equal(t, string(first), string(second), "the second call prepared everything anew")

	client := bootEtcd(t, p)
	members, err := client.MemberList(t.Context())
	require.NoError(t, err)
	require.Len(t, members.Members, 1)
	require.Equal(t, []string{"https://192.0.2.10:2380"}, members.Members[0].PeerURLs)
	judgeDatabase(t, client)
}

// bootEtcd starts etcd on the node's data as the node would, except for the addresses it listens on.
func bootEtcd(t *testing.T, p Provisioning) *clientv3.Client {
	t.Helper()
	ports, err := freePorts(2)
	require.NoError(t, err)
	url := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	etcd, err := startProcess("etcd", filepath.Join(t.TempDir(), "etcd.log"), filepath.Join(p.BinDir, "etcd"), "--name=sno",
		"--data-dir="+filepath.Join(p.Var, "lib/etcd"), "--listen-client-urls="+url, "--advertise-client-urls="+url,
		fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", ports[1]))
	require.NoError(t, err)
	t.Cleanup(func() { _ = etcd.stop() })
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	require.NoError(t, etcd.waitFor(ctx, func(ctx context.Context) error { return etcdAnswers(ctx, client) }))
	return client
}

// judgeDatabase compares the keys that mention the address, and the encodings, with the table in doc.go.
func judgeDatabase(t *testing.T, client *clientv3.Client) {
	t.Helper()
	all, err := client.Get(t.Context(), "/", clientv3.WithPrefix())
	require.NoError(t, err)
	var protobuf, json []string
	values := map[string][]byte{}
	for _, kv := range all.Kvs {
		key := strings.TrimPrefix(string(kv.Key), "/kubernetes.io/")
		require.NotEqual(t, string(kv.Key), key, "a key outside /kubernetes.io")
		values[key] = kv.Value
		if strings.HasPrefix(key, "apiextensions.k8s.io/") || !bytes.Contains(kv.Value, []byte("192.0.2.10")) {
			continue
		}
		if bytes.HasPrefix(kv.Value, []byte("k8s\x00")) {
			protobuf = append(protobuf, key)
		} else {
			json = append(json, key)
		}
	}
	require.Equal(t, []string{
		"configmaps/openshift-apiserver/config",
		"configmaps/openshift-etcd/etcd-endpoints", "configmaps/openshift-etcd/etcd-endpoints-1",
		"configmaps/openshift-etcd/etcd-pod", "configmaps/openshift-etcd/etcd-pod-1",
		"configmaps/openshift-etcd/etcd-scripts", "configmaps/openshift-etcd/restore-etcd-pod",
		"configmaps/openshift-kube-apiserver/config", "configmaps/openshift-kube-apiserver/config-1",
		"deployments/openshift-oauth-apiserver/apiserver",
		"secrets/openshift-etcd/etcd-peer-sno", "secrets/openshift-etcd/etcd-serving-metrics-sno", "secrets/openshift-etcd/etcd-serving-sno",
		"secrets/openshift-kube-apiserver/external-loadbalancer-serving-certkey",
	}, protobuf)
	require.Equal(t, []string{
		"operator.openshift.io/authentications/cluster", "operator.openshift.io/kubeapiservers/cluster",
		"operator.openshift.io/networks/cluster", "operator.openshift.io/openshiftapiservers/cluster",
	}, json)
	for _, key := range []string{"secrets/kube-system/kubeadmin", "configmaps/kube-system/cluster-config-v1", "configmaps/openshift-etcd/cluster-config-v1",
		"secrets/openshift-kube-apiserver-operator/loadbalancer-serving-signer", "secrets/openshift-ingress-operator/router-ca",
		"machineconfiguration.openshift.io/machineconfigs/50-master-dnsmasq-configuration", "config.openshift.io/clusterversions/version"} {
		require.Contains(t, values, key)
	}
}
