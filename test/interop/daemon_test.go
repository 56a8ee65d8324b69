//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clidnsmasq "github.com/lifecycle-agent/lifecycle-agent/internal/cli/dnsmasq"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/dnsmasq"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/grub"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/systemd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/machineconfig"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
)

// The annotations of a node by which the controller and the daemon speak.
const (
	annotation    = "machineconfiguration.openshift.io/"
	currentConfig = annotation + "currentConfig"
	desiredConfig = annotation + "desiredConfig"
	daemonState   = annotation + "state"
	daemonReason  = annotation + "reason"
	desiredDrain  = annotation + "desiredDrain"
	lastDrain     = annotation + "lastAppliedDrain"
)

// daemonScript runs the daemon in namespaces of its own, with the node's disk as its root: it reaches neither the systemd nor the
// container runtime nor the disk of this machine.
const daemonScript = `set -e
root=$1 program=$2
mount -t proc proc $root/proc
mount -t tmpfs dev $root/dev
for device in null zero random urandom; do touch $root/dev/$device; mount --bind /dev/$device $root/dev/$device; done
for dir in bin sbin lib lib64; do [ ! -d /usr/$dir ] || mount --bind /usr/$dir $root/usr/$dir; done
mount --bind $program $root/opt/daemon
export PATH=/opt/lab:/usr/bin:/usr/sbin TMPDIR=/tmp
exec chroot $root /opt/daemon start --node-name=` + nodeName + ` --root-mount=/ --kubeconfig=/var/lib/kubelet/kubeconfig \
  --kubelet-healthz-enabled=false --payload-version=` + labVersion + ` --metrics-url=127.0.0.1:8797`

// asked is where the stand-in of a program notes what it was asked to do.
const asked = "var/log/asked"

// standIns are the node's programs that the daemon must not reach here. Whether a unit is enabled, systemd says from the disk.
var standIns = map[string]string{
	"systemctl":   `[ "$1" != is-enabled ] || exec /usr/bin/systemctl --root=/ is-enabled "$2"` + "\n" + `echo "systemctl $*" >> /` + asked,
	"systemd-run": `echo "systemd-run $*" >> /` + asked,
	"logger":      "cat > /dev/null", "journalctl": "", "ostree": "", "restorecon": "", "chcon": "", "udevadm": "",
}

// furnishNode gives the node's disk what the daemon expects of a node.
func (c *labCluster) furnishNode() {
	c.t.Helper()
	for _, dir := range []string{"proc", "run", "dev", "tmp", "opt/lab", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "var/usrlocal/bin", "var/log", "sysroot"} {
		c.made(dir)
	}
	for link, to := range map[string]string{"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64", "usr/local": "../var/usrlocal"} {
		_ = os.Remove(c.at(link))
		require.NoError(c.t, os.Symlink(to, c.at(link)))
	}
	for name, script := range standIns {
		put(c.t, c.at("opt/lab", name), "#!/bin/sh\n"+script+"\n")
		require.NoError(c.t, os.Chmod(c.at("opt/lab", name), 0o755))
	}
	put(c.t, c.at("opt/daemon"), "")
	put(c.t, c.at("etc/os-release"), "ID=lab\nVERSION_ID=1\n")
	text, err := os.ReadFile(c.kubeconfig())
	require.NoError(c.t, err)
	for _, file := range []string{"etc/kubernetes/kubeconfig", "var/lib/kubelet/kubeconfig"} {
		put(c.t, c.at(file), string(text))
	}
}

// lay writes the files and units of a rendered config to the node's disk, as its first boot does, and names it as the current one.
func (c *labCluster) lay(config *mcv1.MachineConfig) {
	c.t.Helper()
	onNode, enabled := contents(c.t, config.Spec.Config.Raw)
	for path, f := range onNode {
		c.replace(path, f.Text, os.FileMode(f.Mode))
	}
	for name, yes := range enabled {
		if yes {
			require.NoError(c.t, systemd.New(systemd.Options{Root: c.root}).EnableIn(c.t.Context(), "/", name), name)
		}
	}
	text, err := json.Marshal(config)
	require.NoError(c.t, err)
	c.replace(host.MachineConfig, string(text), 0o600)
}

// replace writes a file on the node. The link below /usr leads into /var, as on an ostree system.
func (c *labCluster) replace(path, text string, mode os.FileMode) {
	c.t.Helper()
	at := c.at(strings.Replace(path, "/usr/local/", "/var/usrlocal/", 1))
	put(c.t, at, text)
	require.NoError(c.t, os.Chmod(at, mode))
}

// changeAddress leaves on the node's disk what an address change does: pre-pivot's own steps furnish the new stateroot, which becomes the
// node, recert moves it, and kubelet is enabled again.
func (c *labCluster) changeAddress(to cluster.Site) {
	c.t.Helper()
	request := ipconfig.Request{OperationID: "20260101-000000-0001", OldStateroot: "rhcos", NewStateroot: ipconfig.StaterootName("20260101-000000-0001"),
		IPv4Address: to.Primary().String(), IPv4MachineNetwork: to.Addresses[0].Masked().String(),
		CurrentIPv4MachineNetwork: c.site.Addresses[0].Masked().String(), InstallInitMonitor: true, InstallIPConfigurationService: true}
	booted := host.Deployment{Stateroot: request.OldStateroot, Checksum: strings.Repeat("a", 64), Booted: true, Default: true}
	target := host.Deployment{Index: 1, Stateroot: request.NewStateroot, Checksum: booted.Checksum}
	system, stateroot := c.made(target.Dir()), c.made(host.StaterootDir(target.Stateroot))
	c.must("cp", "-a", c.at("etc"), system)
	c.must("cp", "-a", c.at("var"), stateroot)
	onNode, units := files.New(c.root), systemd.New(systemd.Options{Root: c.root})
	before := change.PrePivot{Files: onNode, Resolver: dnsmasq.New(onNode), Foreign: units, Deployments: listed{all: []host.Deployment{booted, target}},
		OneTimeBoot: grub.New(onNode, nil), Log: slog.New(slog.NewTextHandler(c.t.Output(), nil)), Request: request, Auto: ipconfig.AutoRollback{MonitorEnabled: true}}
	for _, step := range before.Plan().Steps {
		if step.Name == ipconfig.StepFurnish || step.Name == ipconfig.StepUnits {
			require.NoError(c.t, step.Do(c.t.Context()), step.Name)
		}
	}
	c.root = c.t.TempDir()
	require.NoError(c.t, os.Rename(filepath.Join(system, "etc"), c.at("etc")))
	require.NoError(c.t, os.Rename(filepath.Join(stateroot, "var"), c.at("var")))
	c.move(to)
	require.NoError(c.t, systemd.New(systemd.Options{Root: c.root}).EnableIn(c.t.Context(), "/", host.UnitKubelet))
}

// listed is a host.Deployments that lists.
type listed struct {
	host.Deployments
	all []host.Deployment
}

func (l listed) List(context.Context) ([]host.Deployment, error) { return l.all, nil }

// daemon starts the machine config daemon on the node.
func (c *labCluster) daemon(program string) *process {
	c.t.Helper()
	c.furnishNode()
	return launch(c.t, nil, c.inside("unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child",
		"bash", "-c", daemonScript, "daemon", c.root, program)...)
}

// node is the node as the API server has it.
func (c *labCluster) node() *corev1.Node {
	node := &corev1.Node{}
	require.NoError(c.t, c.Client.Get(context.Background(), client.ObjectKey{Name: nodeName}, node))
	return node
}

// annotate sets annotations of the node.
func (c *labCluster) annotate(set map[string]string) {
	c.t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": set}})
	require.NoError(c.t, err)
	require.NoError(c.t, c.Client.Patch(c.t.Context(), c.node(), client.RawPatch("application/merge-patch+json", patch)))
}

// drain is the controller's answer whenever the daemon asks for a drain of the node, or for its end.
func (c *labCluster) drain() *corev1.Node {
	c.t.Helper()
	node := c.node()
	if want := node.Annotations[desiredDrain]; want != node.Annotations[lastDrain] {
		c.annotate(map[string]string{lastDrain: want})
	}
	return node
}

// awaitState waits until the daemon says that the node is in a state, and in a config where one is given.
func (c *labCluster) awaitState(daemon *process, state, config string) (node *corev1.Node) {
	c.t.Helper()
	await(c.t, func() bool {
		daemon.running()
		node = c.drain()
		return node.Annotations[daemonState] == state && (config == "" || node.Annotations[currentConfig] == config)
	}, "the daemon says %s", state)
	return node
}

// awaitValidated waits until the daemon has found the disk to be as the node's config says.
func (c *labCluster) awaitValidated(daemon *process) {
	c.t.Helper()
	await(c.t, func() bool {
		daemon.running()
		node := c.drain()
		require.NotEqual(c.t, "Degraded", node.Annotations[daemonState], node.Annotations[daemonReason])
		return strings.Contains(daemon.output(), "Validated on-disk state") && strings.Contains(daemon.output(), "In desired state")
	}, "the daemon validates the disk")
}

// serveConfig gives the cluster a rendered config, and the project's example of the controller's own with what its definition requires beside.
func (c *labCluster) serveConfig(s source, config *mcv1.MachineConfig) {
	c.t.Helper()
	config.OwnerReferences = nil // the pool of the bootstrap
	c.create(config)
	controller := objects(c.t, s.Read(bootstrapFiles+"/machineconfigcontroller-controllerconfig.yaml"))[0]
	for field, value := range map[string]any{"baseOSContainerImage": "", "cloudProviderCAData": "Cg==", "ipFamilies": "IPv4",
		"network": map[string]any{"mtuMigration": nil}, "dns": map[string]any{"apiVersion": "config.openshift.io/v1", "kind": "DNS",
			"metadata": map[string]any{"name": "cluster"}, "spec": map[string]any{"baseDomain": c.site.Domain()}}} {
		require.NoError(c.t, unstructured.SetNestedField(controller.Object, value, "spec", field))
	}
	c.create(controller)
}

// create makes an object of any kind; one that is there stays.
func (c *labCluster) create(o any) {
	c.t.Helper()
	u, ready := o.(*unstructured.Unstructured)
	if !ready {
		text, err := json.Marshal(o)
		require.NoError(c.t, err)
		u = objects(c.t, text)[0]
	}
	err := c.Client.Create(c.t.Context(), u)
	require.NoError(c.t, client.IgnoreAlreadyExists(err), "%s %s", u.GetKind(), u.GetName())
}

// TestMachineConfigDaemonAcceptsAMovedNode has upstream's daemon compare the node's disk with the rendered config, which the machine
// config controller has made of upstream's templates and our MachineConfigs: it finds no difference before an address change and none
// after it. A file that is changed by hand is found.
func TestMachineConfigDaemonAcceptsAMovedNode(t *testing.T) {
	daemon, r := program(t, "machine-config-daemon"), newRendering(t)
	c := newLabCluster(t, cluster.Site{})
	dns := clidnsmasq.Site{Name: c.site.ClusterName, Domain: c.site.BaseDomain, Addresses: c.site.IPs()}
	config := r.render([]byte(dns.MachineConfig()), overlayConfig(t), relocationConfig(t), documentConfig(t, "p", `{"interfaces":[]}`))
	c.lay(config)
	c.start()
	c.serveConfig(r.source, config)
	c.annotate(map[string]string{currentConfig: config.Name, desiredConfig: config.Name, daemonState: "Done"})
	before := c.daemon(daemon)
	c.awaitValidated(before)
	before.kill()
	c.stop()

	c.changeAddress(away)
	c.start()
	after := c.daemon(daemon)
	c.awaitValidated(after)
	overrides, err := os.ReadFile(c.at(host.DnsmasqOverrides))
	require.NoError(t, err)
	require.Contains(t, string(overrides), away.Primary().String(), "the disk is the moved node's")
	onNode, enabled := contents(t, config.Spec.Config.Raw)
	t.Logf("%d files and %d units of %s are as it says after the change", len(onNode), len(enabled), config.Name)

	const owned = "/etc/NetworkManager/conf.d/single-node.conf"
	c.replace(owned, "[main]\nrc-manager=resolvconf\n", 0o644)
	node := c.awaitState(after, "Degraded", "")
	require.Contains(t, node.Annotations[daemonReason], fmt.Sprintf("content mismatch for file %q", owned))
	after.kill()
}

// TestDocumentsReachANodeWithoutAReboot has upstream's daemon change from a config without a policy's document to one with it, under our
// node disruption policy: the document is on the disk, the node was not drained, and no reboot was asked for. The control: for the
// overlay, which no policy names, the daemon asks for a reboot.
func TestDocumentsReachANodeWithoutAReboot(t *testing.T) {
	daemon, r := program(t, "machine-config-daemon"), newRendering(t)
	const policy, document = "vlan-100", `{"interfaces":[{"name":"eth1.100","type":"vlan","state":"up","vlan":{"base-iface":"eth1","id":100}}]}`
	config := documentConfig(t, policy, document)
	without, with, overlaid := r.render(), r.render(config), r.render(config, overlayConfig(t))
	c := newLabCluster(t, cluster.Site{})
	c.lay(without)
	c.start()
	for _, one := range []*mcv1.MachineConfig{without, with, overlaid} {
		c.serveConfig(r.source, one)
	}
	c.servePolicy()
	serveUnitFiles(t, c.at("run/systemd/private"))
	c.annotate(map[string]string{currentConfig: without.Name, desiredConfig: without.Name, daemonState: "Done"})
	d := c.daemon(daemon)
	c.awaitValidated(d)

	c.annotate(map[string]string{desiredConfig: with.Name})
	c.awaitState(d, "Done", with.Name)
	text, err := os.ReadFile(c.at(machineconfig.Path(policy)))
	require.NoError(t, err)
	want, err := machineconfig.Text([]byte(document))
	require.NoError(t, err)
	require.Equal(t, want, string(text))
	require.NotContains(t, c.asked(), "reboot")
	require.NotContains(t, d.output(), "Drain calculated for node disruption: true")

	c.annotate(map[string]string{desiredConfig: overlaid.Name})
	await(t, func() bool { d.running(); c.drain(); return strings.Contains(c.asked(), "systemctl reboot") }, "the daemon asks for a reboot")
	d.kill()
}

// asked is what the daemon has asked the stand-ins of the node's programs to do.
func (c *labCluster) asked() string {
	text, err := os.ReadFile(c.at(asked))
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(c.t, err)
	}
	return string(text)
}

// servePolicy gives the cluster our node disruption policy, and the status by which the machine config operator takes it up.
func (c *labCluster) servePolicy() {
	c.t.Helper()
	text, err := json.Marshal(machineconfig.NodeDisruptionPolicy())
	require.NoError(c.t, err)
	o := objects(c.t, text)[0]
	require.NoError(c.t, c.Client.Create(c.t.Context(), o))
	files, _, err := unstructured.NestedSlice(o.Object, "spec", "nodeDisruptionPolicy", "files")
	require.NoError(c.t, err)
	status, err := json.Marshal(map[string]any{"status": map[string]any{"observedGeneration": o.GetGeneration(), "nodeDisruptionPolicyStatus": map[string]any{
		"clusterPolicies": map[string]any{"files": files, "sshkey": map[string]any{"actions": []any{map[string]any{"type": "None"}}}}}}})
	require.NoError(c.t, err)
	require.NoError(c.t, c.Client.Status().Patch(c.t.Context(), o, client.RawPatch("application/merge-patch+json", status)))
}
