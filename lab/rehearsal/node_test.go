package rehearsal_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/clustercopy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd/etcdtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/trees"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/rehearsal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/containerimage"
)

const (
	image = "localhost/lab/control-plane:1"
	id    = "20261129-080000-0001"
)

// node is a lab node's disk below a folder. Its etcd runs; containers run in a podman of the test's own.
type node struct {
	root, podman, binary, namespace string
	live                            etcd.LiveConfig
	log                             *slog.Logger
}

// wanted is what a test wants of its node. Nodes may share the podman of another one.
type wanted struct {
	addresses []netip.Prefix
	shared    *node
}

func newNode(t *testing.T, want wanted) *node {
	t.Helper()
	if testing.Short() {
		t.Skip("reason: starts etcd and kube-apiserver; run without -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("reason: containers and network namespaces need root")
	}
	for _, program := range []string{"podman", "runc"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("reason: %s is missing on this machine (make host-packages)", program)
		}
	}
	n := &node{root: t.TempDir(), binary: etcdtest.Binary(t), log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	bin := filepath.Dir(n.binary)
	for _, name := range []string{"kube-apiserver", "apiserver-entrypoint", "pause"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			t.Skipf("reason: %s is not built; run make build controlplane", name)
		}
	}
	n.provision(t, bin, want.addresses)
	if want.shared != nil {
		n.podman, n.namespace = want.shared.podman, want.shared.namespace
	} else {
		n.installPodman(t, bin)
	}
	n.startEtcd(t)
	return n
}

// provision furnishes the disk. The static pods name an image that the test can load.
func (n *node) provision(t *testing.T, bin string, addresses []netip.Prefix) {
	t.Helper()
	p := cluster.Provisioning{Etc: filepath.Join(n.root, "etc"), Var: filepath.Join(n.root, "var"), OutDir: filepath.Join(n.root, "out"),
		BinDir: bin, Agent: cluster.Nodelet, Node: cluster.Site{Addresses: addresses}}
	require.NoError(t, cluster.Provision(t.Context(), p))
	for _, pod := range []string{"etcd-pod.yaml", "kube-apiserver-pod.yaml"} {
		n.edit(t, "/etc/kubernetes/manifests/"+pod, func(text string) string {
			return strings.NewReplacer(containerimage.Etcd, image, containerimage.APIServer, image).Replace(text)
		})
	}
	memory, err := os.ReadFile("/proc/meminfo")
	require.NoError(t, err)
	n.write(t, "/proc/meminfo", string(memory))
}

func (n *node) write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(n.root, path)), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(n.root, path), []byte(text), 0o600))
}

func (n *node) edit(t *testing.T, path string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(n.root, path))
	require.NoError(t, err)
	n.write(t, path, change(string(text)))
}

// installPodman writes a podman with a storage of its own and loads the image of the control plane.
func (n *node) installPodman(t *testing.T, bin string) {
	t.Helper()
	dir := etcdtest.ShortDir(t)
	n.namespace = filepath.Join(dir, "net")
	// A machine that is a container itself grants no higher limits, and of the runtimes only runc takes cgroups of both versions.
	limits := "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n[engine]\nruntime = \"runc\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "containers.conf"), []byte(limits), 0o644))
	n.podman = filepath.Join(dir, "podman")
	script := fmt.Sprintf("#!/bin/sh\nexport CONTAINERS_CONF=%[1]s/containers.conf\n"+
		"exec podman --root %[1]s/storage --runroot %[1]s/run --tmpdir %[1]s/tmp --storage-driver vfs --cgroup-manager cgroupfs \"$@\"\n", dir)
	require.NoError(t, os.WriteFile(n.podman, []byte(script), 0o755))
	archive := filepath.Join(dir, "image.tar")
	programs := containerimage.ControlPlane(bin)
	programs.Names = []string{image}
	require.NoError(t, programs.Write(archive))
	id, err := exec.Command(n.podman, "pull", "--quiet", "oci-archive:"+archive).Output()
	require.NoError(t, err)
	out, err := exec.Command(n.podman, "tag", strings.TrimSpace(string(id)), image).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Cleanup(func() {
		if out, err := exec.Command(n.podman, "rm", "--all", "--force", "--time", "0").CombinedOutput(); err != nil {
			t.Logf("remove what is left of the containers: %v: %s", err, out)
		}
	})
}

// startEtcd runs the node's etcd, on a socket.
func (n *node) startEtcd(t *testing.T) {
	t.Helper()
	dir := etcdtest.ShortDir(t)
	cmd := exec.Command(n.binary, "--data-dir", filepath.Join(n.root, host.EtcdData), "--name", "sno", "--log-level", "error",
		"--listen-client-urls", "unix://client:0", "--advertise-client-urls", "unix://client:0", "--listen-peer-urls", "unix://peer:0")
	cmd.Dir = dir
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.Nil(t, cmd.ProcessState, "the node's etcd still runs")
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	n.live = etcd.LiveConfig{Endpoint: "unix://" + filepath.Join(dir, "client:0")}
	require.Eventually(t, func() bool {
		open, err := etcd.NewLive(n.live).Open(t.Context())
		if err == nil {
			err = open.Close(t.Context())
		}
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{n.live.Endpoint}, Logger: zap.NewNop()})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	_, err = client.Put(t.Context(), "/kubernetes.io/minions/sno", registeredNode)
	require.NoError(t, err)
}

// registeredNode is what the kubelet, which this node lacks, would have made.
const registeredNode = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"sno","uid":"6c9c3f2e-7f1c-4a6f-9d0a-2f8a4d4c1e11",` +
	`"creationTimestamp":"2026-11-29T08:00:00Z"},"spec":{},"status":{"addresses":[{"type":"InternalIP","address":"192.0.2.10"},` +
	`{"type":"InternalIP","address":"2001:db8::10"},{"type":"Hostname","address":"sno"}]}}`

// ports are the adapters of the node itself where a rehearsal works on the disk or on containers, and a simulated node's elsewhere.
func (n *node) ports() rehearsal.Ports {
	simulated := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"}).Ports()
	simulated.Files, simulated.Trees = files.New(n.root), trees.New(trees.Options{Root: n.root, Log: n.log})
	return rehearsal.Ports{
		Ports:  change.Ports{Node: simulated, Cluster: knownCluster{}, Clock: flow.SystemClock{}, Log: n.log},
		Copies: copies{n},
		ControlPlane: below{n.root, clustercopy.New(clustercopy.Options{
			Runner: run.New(run.Options{}), Podman: n.podman, Live: n.live, DataDir: filepath.Join(n.root, host.EtcdData),
			Namespace: n.namespace, Log: n.log,
		})},
	}
}

// knownCluster says of the cluster what its API would.
type knownCluster struct{ change.Cluster }

func (knownCluster) Inputs(context.Context, string) (change.Inputs, error) {
	return change.Inputs{NodeAddresses: []netip.Addr{netip.MustParseAddr("192.0.2.10"), netip.MustParseAddr("2001:db8::10")}}, nil
}

// copies are of this node's disk.
type copies struct{ n *node }

func (c copies) Files(root string) host.Files { return files.New(filepath.Join(c.n.root, root)) }

func (c copies) Open(root, path string) (io.ReadCloser, error) {
	return files.New(filepath.Join(c.n.root, root)).OpenRegular(path)
}

func (c copies) Keystore(root string) host.Keystore {
	return etcd.New(etcd.Config{DataDir: filepath.Join(c.n.root, root, host.EtcdData), Manifest: "/nonexistent", Binary: c.n.binary,
		RuntimeDir: filepath.Join(filepath.Dir(c.n.namespace), "recert")})
}

func (c copies) Recert(root string) host.Recert {
	return recert.New(recert.Ports{Keystore: c.Keystore(root), Files: c.Files(root), Log: c.n.log})
}

func (copies) Purge(context.Context, string) error { return nil }

// below puts the folder of the node before every path.
type below struct {
	root string
	*clustercopy.Copies
}

func (b below) CopyStore(ctx context.Context, root string) error {
	return b.Copies.CopyStore(ctx, filepath.Join(b.root, root))
}

func (b below) Start(ctx context.Context, root string, c host.StaticContainer) error {
	return b.Copies.Start(ctx, filepath.Join(b.root, root), c)
}

// rehearse moves the node in a copy, and returns the report.
func (n *node) rehearse(t *testing.T, to ipconfig.Request) lcav1.Rehearsal {
	t.Helper()
	ports := n.ports()
	requestRehearsal(t, ports, to)
	require.NoError(t, rehearsal.Run(t.Context(), ports, operation.Instruments{Watch: func(e flow.Entry) {
		if line := operation.Narrate(e); line != "" {
			t.Log(line)
		}
	}}))
	return readReport(t, ports)
}

func readReport(t *testing.T, ports rehearsal.Ports) lcav1.Rehearsal {
	t.Helper()
	report, found, err := rehearsal.ReadReport(ports.Files)
	require.NoError(t, err)
	require.True(t, found)
	return report
}

// requestRehearsal stores the request of a rehearsal, as Prepare does once the checks have passed.
func requestRehearsal(t *testing.T, ports rehearsal.Ports, to ipconfig.Request) {
	t.Helper()
	r := rehearsal.Request{OperationID: id, Checks: "1 of 1 passed", Change: to, AddressChanges: []string{"192.0.2.10 -> 198.51.100.20"}}
	require.NoError(t, operation.WriteJSON(ports.Files, rehearsal.RequestFile, r))
}

func singleStack() ipconfig.Request {
	return ipconfig.Request{OperationID: id, IPv4Address: "198.51.100.20", IPv4MachineNetwork: "198.51.100.0/24", IPv4Gateway: "198.51.100.1",
		DNSServers: []string{"198.51.100.53"}}
}

// disk is every file of the node's configuration, by path.
func (n *node) disk(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range []string{"etc", "var/lib/kubelet"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(n.root, dir), func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			all[path] = string(text)
			return err
		}))
	}
	return all
}

func (n *node) keys(t *testing.T) map[string]host.KeyValue {
	t.Helper()
	all := map[string]host.KeyValue{}
	session, err := etcd.NewLive(n.live).Open(t.Context())
	require.NoError(t, err)
	require.NoError(t, session.Range(t.Context(), "", func(kv host.KeyValue) error { all[kv.Key] = kv; return nil }))
	require.NoError(t, session.Close(t.Context()))
	return all
}

// requireUntouched says that nothing is left of the rehearsal but its report and its journal, and that the cluster is what it was.
func (n *node) requireUntouched(t *testing.T, disk map[string]string, keys map[string]host.KeyValue) {
	t.Helper()
	require.Equal(t, disk, n.disk(t), "files of the node")
	require.Equal(t, keys, n.keys(t), "keys of the running etcd")
	left, err := exec.Command(n.podman, "ps", "--all", "--quiet").Output()
	require.NoError(t, err)
	require.Empty(t, string(left), "containers")
	require.NoFileExists(t, n.namespace)
	require.NoDirExists(t, filepath.Join(n.root, rehearsal.Dir))
	require.NoFileExists(t, filepath.Join(n.root, rehearsal.RequestFile))
}

func results(r lcav1.Rehearsal) map[string]lcav1.ProofResult {
	out := map[string]lcav1.ProofResult{}
	for _, p := range r.Proofs {
		out[p.Name] = p.Result
	}
	return out
}

// TestARehearsalProvesTheControlPlane has the real etcd and kube-apiserver serve the new address with certificates for it, while the
// node's own etcd runs.
func TestARehearsalProvesTheControlPlane(t *testing.T) {
	n := newNode(t, wanted{})
	disk, keys := n.disk(t), n.keys(t)
	report := n.rehearse(t, singleStack())
	for _, p := range report.Proofs {
		t.Logf("%s: %s (%d s): %s", p.Name, p.Result, p.Seconds, p.Message)
	}
	require.Equal(t, lcav1.RehearsalPassed, report.Result)
	require.Equal(t, map[string]lcav1.ProofResult{
		rehearsal.ProofChecks: lcav1.ProofProved, rehearsal.ProofCopy: lcav1.ProofProved, rehearsal.ProofStore: lcav1.ProofProved,
		rehearsal.ProofRecert: lcav1.ProofProved, rehearsal.ProofEtcd: lcav1.ProofProved, rehearsal.ProofAPI: lcav1.ProofProved,
		rehearsal.ProofAPIName: lcav1.ProofProved, rehearsal.ProofNode: lcav1.ProofProved, rehearsal.ProofNetwork: lcav1.ProofNotProved,
		rehearsal.ProofBoot: lcav1.ProofNotProved, rehearsal.ProofKubelet: lcav1.ProofNotProved, rehearsal.ProofWorkload: lcav1.ProofNotProved,
	}, results(report))
	n.requireUntouched(t, disk, keys)
}

// asked shows a test each question that a rehearsal has for its servers, before it is asked.
type asked struct {
	host.ControlPlaneCopies
	before func(host.Question)
}

func (a asked) Ask(ctx context.Context, q host.Question) (host.Reply, error) {
	a.before(q)
	return a.ControlPlaneCopies.Ask(ctx, q)
}

// TestARehearsalThatIsStoppedLeavesNothing stops one while both servers run, as systemd does when another operation asks for the node.
func TestARehearsalThatIsStoppedLeavesNothing(t *testing.T) {
	n := newNode(t, wanted{})
	disk, keys := n.disk(t), n.keys(t)
	ports := n.ports()
	requestRehearsal(t, ports, singleStack())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	running := ""
	ports.ControlPlane = asked{ControlPlaneCopies: ports.ControlPlane, before: func(q host.Question) {
		if strings.HasPrefix(q.Path, "/readyz") && running == "" {
			out, err := exec.Command(n.podman, "ps", "--quiet").Output()
			require.NoError(t, err)
			running = string(out)
			stop()
		}
	}}
	require.Error(t, rehearsal.Run(ctx, ports, operation.Instruments{}))
	require.Len(t, strings.Fields(running), 2, "both servers ran")
	report := readReport(t, ports)
	require.Equal(t, lcav1.RehearsalAborted, report.Result)
	require.Contains(t, report.Message, "stopped from outside")
	n.requireUntouched(t, disk, keys)
}

// TestWhatAKilledRehearsalHasLeftIsRemoved: containers and network of a program that was killed are gone after the next one's Remove.
func TestWhatAKilledRehearsalHasLeftIsRemoved(t *testing.T) {
	n := newNode(t, wanted{})
	ports := n.ports()
	require.NoError(t, ports.ControlPlane.Isolate(t.Context(), []netip.Prefix{netip.MustParsePrefix("198.51.100.20/24"), netip.MustParsePrefix("2001:db8::20/64")}))
	require.NoError(t, exec.Command(n.podman, "run", "--detach", "--name", "lca-rehearsal-etcd", "--network", "ns:"+n.namespace, image).Run())
	require.NoError(t, exec.Command(n.podman, "run", "--detach", "--name", "bystander", "--network", "none", image).Run())
	require.NoError(t, n.ports().ControlPlane.Remove(t.Context()))
	left, err := exec.Command(n.podman, "ps", "--format", "{{.Names}}").Output()
	require.NoError(t, err)
	require.Equal(t, "bystander\n", string(left))
	require.NoFileExists(t, n.namespace)
	require.NoError(t, n.ports().ControlPlane.Remove(t.Context()), "nothing is left to remove")
}

// TestBothFamiliesOfADualStackNodeAreProved: each address is asked, and the certificates are for both.
func TestBothFamiliesOfADualStackNodeAreProved(t *testing.T) {
	n := newNode(t, wanted{addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24"), netip.MustParsePrefix("2001:db8::10/64")}})
	to := singleStack()
	to.IPv6Address, to.IPv6MachineNetwork, to.IPv6Gateway = "2001:db8:77::20", "2001:db8:77::/64", "2001:db8:77::1"
	report := n.rehearse(t, to)
	for _, p := range report.Proofs {
		t.Logf("%s: %s: %s", p.Name, p.Result, p.Message)
		if p.Name == rehearsal.ProofEtcd || p.Name == rehearsal.ProofAPI {
			require.Contains(t, p.Message, "https://198.51.100.20:")
			require.Contains(t, p.Message, "https://[2001:db8:77::20]:")
		}
	}
	require.Equal(t, lcav1.RehearsalPassed, report.Result)
}
