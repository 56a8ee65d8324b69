//go:build lab

package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
)

// moduleRoot is where the module is, seen from this package.
const moduleRoot = "../../.."

// inNamespace is a shell script that gives the new network namespace the node's address and names, and becomes its argument.
const inNamespace = `set -e
ip link set lo up
for address in $ADDRESSES; do ip address add "$address" dev lo; done
mount --bind "$HOSTS" /etc/hosts
exec "$@"`

// TestNodeBootsInANamespaceOfItsOwn runs the agent with the real etcd and kube-apiserver on a provisioned tree, without a machine: it
// becomes ready, shows the node to somebody who uses the outside kubeconfig, and ends when it is told to.
func TestNodeBootsInANamespaceOfItsOwn(t *testing.T) {
	bin := builtPrograms(t)
	v4, v6 := netip.MustParsePrefix("192.0.2.10/24"), netip.MustParsePrefix("2001:db8::10/64")
	t.Run("IPv4", func(t *testing.T) { bootAndJudge(t, bin, v4) })
	t.Run("dual stack with IPv6 first", func(t *testing.T) { bootAndJudge(t, bin, v6, v4) })
}

func bootAndJudge(t *testing.T, bin string, addresses ...netip.Prefix) {
	root := t.TempDir()
	site := cluster.Site{Addresses: addresses}
	require.NoError(t, cluster.Provision(t.Context(), cluster.Provisioning{Etc: root + "/etc", Var: root + "/var", OutDir: root + "/out",
		BinDir: bin, Agent: cluster.Nodelet, Node: site, ModuleDir: moduleRoot}))
	agent := startAgent(t, bin, root, addresses)
	node, err := outsideClient(t, root, agent, "").CoreV1().Nodes().Get(t.Context(), "sno", metav1.GetOptions{})
	require.NoError(t, err)
	for i, address := range addresses {
		require.Equal(t, address.Addr().String(), node.Status.Addresses[i].Address)
	}
	require.Empty(t, node.Spec.Taints)
	endAgent(t, agent)
}

// outsideClient calls the node with the kubeconfig of the outside user, at another server than it names where one is given.
func outsideClient(t *testing.T, root string, agent *exec.Cmd, server string) *kubernetes.Clientset {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags(server, root+"/out/kubeconfig")
	require.NoError(t, err)
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		return dialInside(ctx, agent.Process.Pid, network, address)
	}
	clients, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return clients
}

func endAgent(t *testing.T, agent *exec.Cmd) {
	t.Helper()
	require.NoError(t, agent.Process.Signal(syscall.SIGTERM))
	require.NoError(t, agent.Wait(), "the agent did not end cleanly")
}

// builtPrograms makes a directory with the three programs, or skips.
func builtPrograms(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("reason: a network namespace needs root; run as root")
	}
	for _, tool := range []string{"unshare", "ip", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("reason: %s is missing; install util-linux, iproute2 and mount", tool)
		}
	}
	if err := exec.Command("unshare", "--net", "--mount", "true").Run(); err != nil {
		t.Skipf("reason: namespaces are not allowed here: %v", err)
	}
	dir := t.TempDir()
	for _, name := range []string{"etcd", "kube-apiserver"} {
		built, err := filepath.Abs(filepath.Join(moduleRoot, "build/bin", name))
		require.NoError(t, err)
		if _, err := os.Stat(built); err != nil {
			t.Skipf("reason: %s is not built; make controlplane builds it", name)
		}
		require.NoError(t, os.Symlink(built, filepath.Join(dir, name)))
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "nodelet"), ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return dir
}

// startAgent starts the agent in new namespaces and waits until it tells its supervisor that the node is ready.
func startAgent(t *testing.T, bin, root string, addresses []netip.Prefix) *exec.Cmd {
	t.Helper()
	primary, all := addresses[0].Addr().String(), strings.Trim(fmt.Sprint(addresses), "[]")
	hosts, ips, notify := root+"/hosts", root+"/nodeip", root+"/notify"
	writeFile(t, hosts, "127.0.0.1 localhost\n"+primary+" api-int.lab.example.com\n")
	writeFile(t, ips+"/primary-ip", primary)
	for _, address := range addresses {
		writeFile(t, ips+"/ipv"+map[bool]string{true: "4", false: "6"}[address.Addr().Is4()], address.Addr().String())
	}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	require.NoError(t, err)
	defer os.Remove(notify) // closing leaves the name, and the next start binds it again
	defer socket.Close()

	agent := exec.Command("unshare", "--net", "--mount", "sh", "-c", inNamespace, "sh",
		bin+"/nodelet", "-root", root, "-node-name", "sno", "-bin-dir", bin, "-address-dir", ips)
	agent.Env = append(os.Environ(), "ADDRESSES="+all, "HOSTS="+hosts, "NOTIFY_SOCKET="+notify)
	log, err := os.Create(root + "/log")
	require.NoError(t, err)
	defer log.Close()
	agent.Stderr = log
	require.NoError(t, agent.Start())
	t.Cleanup(func() { _ = agent.Process.Signal(syscall.SIGTERM); _ = agent.Wait() })

	require.NoError(t, socket.SetReadDeadline(time.Now().Add(90*time.Second)))
	message := make([]byte, 4096)
	n, err := socket.Read(message)
	if err != nil || !strings.HasPrefix(string(message[:n]), "READY=1") {
		text, _ := os.ReadFile(root + "/log")
		t.Fatalf("not ready: %v, %q\n%s", err, message[:n], text[max(0, len(text)-4000):])
	}
	return agent
}

// dialInside connects from within the process's network namespace. The thread that changed its namespace ends with its goroutine.
func dialInside(ctx context.Context, pid int, network, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread()
		ns, err := netns.GetFromPid(pid)
		if err != nil {
			done <- result{nil, err}
			return
		}
		defer ns.Close()
		if err := netns.Set(ns); err != nil {
			done <- result{nil, err}
			return
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}
