//go:build lab

package main

import (
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
)

// TestNodeMovesToAnotherAddress lets the product's recert work on the stopped node, offline, and boots it elsewhere: the layout of the
// lab and the product's idea of it meet here. Only this test imports the product.
func TestNodeMovesToAnotherAddress(t *testing.T) {
	bin := builtPrograms(t)
	home, away := netip.MustParsePrefix("192.0.2.10/24"), netip.MustParsePrefix("198.51.100.7/24")
	root := t.TempDir()
	require.NoError(t, cluster.Provision(t.Context(), cluster.Provisioning{Etc: root + "/etc", Var: root + "/var", OutDir: root + "/out",
		BinDir: bin, Agent: cluster.Nodelet, Node: cluster.Site{Addresses: []netip.Prefix{home}}, ModuleDir: moduleRoot}))
	endAgent(t, startAgent(t, bin, root, []netip.Prefix{home})) // the first boot registers the old address

	runRecert(t, bin, root, away)

	agent := startAgent(t, bin, root, []netip.Prefix{away})
	clients := outsideClient(t, root, agent, "https://198.51.100.7:6443") // verified by the same CA bundle as before
	nodes, err := clients.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, nodes.Items, 1)
	require.Equal(t, "198.51.100.7", nodes.Items[0].Status.Addresses[0].Address)
	_, err = clients.CoreV1().Secrets("kube-system").Get(t.Context(), "kubeadmin", metav1.GetOptions{})
	require.NoError(t, err, "the kubeadmin login did not survive")
	endAgent(t, agent)
	log, err := os.ReadFile(root + "/log")
	require.NoError(t, err)
	require.NotContains(t, string(log), "bad certificate", "a certificate does not name the new address")
	store, err := offlineStore(t, bin, root).Open(t.Context())
	require.NoError(t, err)
	members, err := store.Members(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"https://198.51.100.7:2380"}, members[0].PeerURLs)
	require.NoError(t, store.Close(t.Context()))
}

// offlineStore opens the stopped node's etcd as the product does.
func offlineStore(t *testing.T, bin, root string) *etcd.Store {
	t.Helper()
	runtimeDir, err := os.MkdirTemp("", "move-") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(runtimeDir) })
	return etcd.New(etcd.Config{DataDir: root + "/var/lib/etcd", RuntimeDir: runtimeDir, Binary: bin + "/etcd"})
}

func runRecert(t *testing.T, bin, root string, to netip.Prefix) {
	t.Helper()
	const config = "/var/lib/lca/workspace/recert_config.json"
	writeFile(t, root+config, `{"ip_change_only":true,"ip":["`+to.Addr().String()+`"],"machine_network_cidr":["`+to.Masked().String()+`"],
		"crypto_dirs":["/kubelet","/kubernetes"],"cluster_customization_dirs":["/kubelet","/kubernetes"],"summary_file":"/var/tmp/recert-summary.yaml"}`)
	engine := recert.New(recert.Ports{Keystore: offlineStore(t, bin, root), Files: files.New(root)})
	require.NoError(t, engine.Run(t.Context(), config))
}
