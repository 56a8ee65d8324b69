//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd/etcdtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
	"github.com/lifecycle-agent/lifecycle-agent/lab/apiserverflags"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

const (
	// nodeName is the node of a lab cluster, labVersion its version of OpenShift.
	nodeName, labVersion = "sno", "4.22.0"
	// staticPods is where a node keeps what its static pods read.
	staticPods = "etc/kubernetes/static-pod-resources"
)

// away is where a cluster with an IPv4 address moves to, awayDual where one with both families does, IPv6 first.
var (
	away     = site("198.51.100.20/24")
	awayDual = site("fd00:77::20/64", "198.51.100.20/24")
)

func site(addresses ...string) (s cluster.Site) {
	for _, a := range addresses {
		p := netip.MustParsePrefix(a)
		s.Addresses, s.Gateways = append(s.Addresses, p), append(s.Gateways, p.Masked().Addr().Next())
	}
	return s
}

// labCluster is the lab's model of a single-node OpenShift: etcd and kube-apiserver run from the disk of a node, in a network namespace
// that has the node's addresses and no way out.
type labCluster struct {
	t       *testing.T
	root    string // of the node
	out     string // what the user of the cluster has
	network network.Network
	site    cluster.Site
	servers []*process
	// authorities are those that pods verify the API server by.
	authorities []byte

	Config *rest.Config
	Client client.Client
}

// newLabCluster provisions a node; its cluster does not run yet.
func newLabCluster(t *testing.T, site cluster.Site) *labCluster {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("reason: a network namespace needs root")
	}
	c := &labCluster{t: t, root: t.TempDir(), out: t.TempDir(), site: site.WithDefaults(), network: network.Network{Name: fmt.Sprintf("interop-%d", os.Getpid())}}
	require.NoError(t, cluster.Provision(t.Context(), cluster.Provisioning{Etc: c.made("etc"), Var: c.made("var"), OutDir: c.out,
		BinDir: controlPlane(t), Agent: cluster.Nodelet, Node: c.site}))
	config, err := clientcmd.LoadFromFile(c.kubeconfig())
	require.NoError(t, err)
	c.authorities = config.Clusters[config.Contexts[config.CurrentContext].Cluster].CertificateAuthorityData
	require.NotEmpty(t, c.authorities)
	c.must("ip", "netns", "add", c.network.LAN())
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", c.network.LAN()).Run() })
	c.must("ip", "-n", c.network.LAN(), "link", "set", "lo", "up")
	c.address()
	return c
}

// controlPlane is a folder with the programs that provisioning runs, and a node agent that is not run.
func controlPlane(t *testing.T) string {
	t.Helper()
	built, dir := filepath.Dir(etcdtest.Binary(t)), t.TempDir()
	for _, name := range []string{"etcd", "kube-apiserver"} {
		require.FileExists(t, filepath.Join(built, name), "make controlplane builds it")
		require.NoError(t, os.Symlink(filepath.Join(built, name), filepath.Join(dir, name)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, string(cluster.Nodelet)), nil, 0o755))
	return dir
}

func (c *labCluster) must(argv ...string) string {
	c.t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	require.NoError(c.t, err, "%v: %s", argv, out)
	return string(out)
}

// at is a path on the node.
func (c *labCluster) at(path ...string) string {
	return filepath.Join(append([]string{c.root}, path...)...)
}

func (c *labCluster) made(folder string) string {
	require.NoError(c.t, os.MkdirAll(c.at(folder), 0o755))
	return c.at(folder)
}

// address gives the namespace the addresses of the site, and no others.
func (c *labCluster) address() {
	c.t.Helper()
	c.must("ip", "-n", c.network.LAN(), "address", "flush", "dev", "lo", "scope", "global")
	for _, a := range c.site.Addresses {
		argv := []string{"ip", "-n", c.network.LAN(), "address", "add", a.String(), "dev", "lo"}
		if a.Addr().Is6() {
			argv = append(argv, "nodad")
		}
		c.must(argv...)
	}
}

// inside is the command line by which a program runs in the cluster's network.
func (c *labCluster) inside(argv ...string) []string {
	return append([]string{"nsenter", "--net=/run/netns/" + c.network.LAN()}, argv...)
}

// start runs etcd and kube-apiserver, and describes the node as its kubelet would.
func (c *labCluster) start() {
	c.t.Helper()
	c.servers = append(c.servers, launch(c.t, nil, c.inside(c.etcdCommand()...)...))
	c.servers = append(c.servers, launch(c.t, nil, c.inside(c.apiServerCommand()...)...))
	c.writeKubeconfig()
	c.Config = c.connection()
	scheme := runtime.NewScheme()
	require.NoError(c.t, clientgoscheme.AddToScheme(scheme))
	require.NoError(c.t, apiextensionsv1.AddToScheme(scheme))
	api, err := kubernetes.NewForConfig(c.Config)
	require.NoError(c.t, err)
	await(c.t, func() bool {
		for _, server := range c.servers {
			server.running()
		}
		return api.Discovery().RESTClient().Get().AbsPath("/readyz").Do(context.Background()).Error() == nil
	}, "the API server answers")
	c.Client, err = client.New(c.Config, client.Options{Scheme: scheme})
	require.NoError(c.t, err)
	c.describeNode()
}

// stop ends both, the API server first.
func (c *labCluster) stop() {
	for i := len(c.servers) - 1; i >= 0; i-- {
		c.servers[i].stop()
	}
	c.servers = nil
}

func (c *labCluster) wildcard() string {
	if c.site.Addresses[0].Addr().Is4() && len(c.site.Addresses) == 1 {
		return "0.0.0.0"
	}
	return "[::]"
}

// url is a service of the node, by its primary address.
func (c *labCluster) url(port uint16) string {
	return "https://" + netip.AddrPortFrom(c.site.Primary(), port).String()
}

// etcdCommand is that of the node's etcd-pod.yaml, for a program outside a container.
func (c *labCluster) etcdCommand() []string {
	certs, any := c.at(staticPods, "etcd-certs"), "https://"+c.wildcard()
	pair := func(kind string) (string, string) {
		file := filepath.Join(certs, "secrets/etcd-all-certs/etcd-"+kind+"-"+nodeName)
		return file + ".crt", file + ".key"
	}
	cert, key := pair("serving")
	peerCert, peerKey := pair("peer")
	authorities := filepath.Join(certs, "configmaps/etcd-all-bundles/server-ca-bundle.crt")
	return []string{etcdtest.Binary(c.t), "--name=" + nodeName, "--data-dir=" + c.at("var/lib/etcd"), "--log-level=warn", "--unsafe-no-fsync",
		"--initial-cluster-state=existing", "--initial-advertise-peer-urls=" + c.url(2380), "--advertise-client-urls=" + c.url(2379),
		"--listen-client-urls=" + any + ":2379", "--listen-peer-urls=" + any + ":2380", "--listen-metrics-urls=" + any + ":9978",
		"--client-cert-auth", "--cert-file=" + cert, "--key-file=" + key, "--trusted-ca-file=" + authorities,
		"--peer-client-cert-auth", "--peer-cert-file=" + peerCert, "--peer-key-file=" + peerKey, "--peer-trusted-ca-file=" + authorities}
}

// apiServerCommand is what the node's config.yaml asks for. Pods get no token, because no kubelet would use it.
func (c *labCluster) apiServerCommand() []string {
	pod := c.at(staticPods, "kube-apiserver-pod-1")
	onNode := strings.NewReplacer("/etc/kubernetes/static-pod-certs", c.at(staticPods, "kube-apiserver-certs"),
		"/etc/kubernetes/static-pod-resources", pod)
	flags, err := apiserverflags.FromFile(filepath.Join(pod, "configmaps/config/config.yaml"), onNode.Replace)
	require.NoError(c.t, err)
	program := filepath.Join(filepath.Dir(etcdtest.Binary(c.t)), "kube-apiserver")
	return append(append([]string{program}, flags...), "--advertise-address="+c.site.Primary().String(),
		"--disable-admission-plugins=ServiceAccount")
}

// connection is the test's own to the API server.
func (c *labCluster) connection() *rest.Config {
	text, err := os.ReadFile(c.kubeconfig())
	require.NoError(c.t, err)
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	require.NoError(c.t, err)
	config.Dial, config.QPS = c.network.DialContext, -1
	return config
}

// kubeconfig is that of the node's own administrator.
func (c *labCluster) kubeconfig() string { return filepath.Join(c.out, "kubeconfig") }

// writeKubeconfig takes it from the node. It reaches the API server by the loopback address, which OpenShift's certificates name; the
// node's address, only the lab's do.
func (c *labCluster) writeKubeconfig() {
	c.t.Helper()
	config, err := clientcmd.LoadFromFile(c.at(host.LocalKubeconfig))
	require.NoError(c.t, err)
	for _, server := range config.Clusters {
		server.Server = "https://127.0.0.1:6443"
	}
	require.NoError(c.t, clientcmd.WriteToFile(*config, c.kubeconfig()))
}

// describeNode does a kubelet's part.
func (c *labCluster) describeNode() {
	c.t.Helper()
	labels := map[string]string{"node-role.kubernetes.io/master": "", "node-role.kubernetes.io/control-plane": "",
		"kubernetes.io/hostname": nodeName, "kubernetes.io/os": "linux"}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName, Labels: labels}}
	require.NoError(c.t, client.IgnoreAlreadyExists(c.Client.Create(c.t.Context(), node)))
	require.NoError(c.t, c.Client.Get(c.t.Context(), client.ObjectKey{Name: nodeName}, node))
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: nodeName}}
	for _, a := range c.site.IPs() {
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a.String()})
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}
	node.Status.NodeInfo = corev1.NodeSystemInfo{Architecture: "amd64", OperatingSystem: "linux", KubeletVersion: "v1.35.4"}
	require.NoError(c.t, c.Client.Status().Update(c.t.Context(), node))
}

// move gives the stopped cluster the addresses of another site, as post-pivot does.
func (c *labCluster) move(to cluster.Site) {
	c.t.Helper()
	require.Empty(c.t, c.servers, "the cluster is stopped")
	config := map[string]any{"ip_change_only": true, "etcd_endpoint": "localhost:2379", "summary_file_clean": host.RecertSummary}
	for _, key := range []string{"crypto_dirs", "cluster_customization_dirs"} {
		config[key] = []string{"/kubelet", "/kubernetes", "/machine-config-daemon"}
	}
	var ips, networks, rules []string
	for i, a := range to.Addresses {
		ips, networks = append(ips, a.Addr().String()), append(networks, a.Masked().String())
		rules = append(rules, c.site.Addresses[i].Addr().String()+","+a.Addr().String())
	}
	config["ip"], config["machine_network_cidr"], config["cn_san_replace_rules"] = ips, networks, rules
	text, err := json.Marshal(config)
	require.NoError(c.t, err)
	onNode := files.New(c.root)
	require.NoError(c.t, onNode.Write(host.RecertConfig, text, 0o600))
	store := etcd.New(etcd.Config{DataDir: c.at(host.EtcdData), RuntimeDir: filepath.Join(etcdtest.ShortDir(c.t), "run"),
		Manifest: "/nonexistent", Binary: etcdtest.Binary(c.t)})
	require.NoError(c.t, recert.New(recert.Ports{Keystore: store, Files: onNode, Log: slog.New(slog.NewTextHandler(c.t.Output(), nil))}).
		Run(c.t.Context(), host.RecertConfig))
	c.site.Addresses, c.site.Gateways = to.Addresses, to.Gateways
	c.address()
}
