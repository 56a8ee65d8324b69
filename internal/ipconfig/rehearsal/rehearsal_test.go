package rehearsal_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/rehearsal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation/operationtest"
)

const kubeconfig = `clusters:
- cluster: {server: "https://api.lab.example.com:6443", certificate-authority-data: Y2E=}
users:
- user: {client-certificate-data: Y3J0, client-key-data: a2V5}
`

// world is a node on which an administrator rehearses a change.
type world struct {
	node  *hosttest.Node
	clock *operationtest.Clock
	bomb  *flowtest.Bomb
	kill  bool
	ops   int
	// memory is /proc/meminfo; much where empty.
	memory string
}

func newWorld(t *testing.T, kill bool) *world {
	t.Helper()
	w := &world{node: hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"}), clock: &operationtest.Clock{Time: time.Unix(1e9, 0).UTC()}, kill: kill}
	for path, text := range map[string]string{
		host.LBExtKubeconfig: kubeconfig,
		"/etc/kubernetes/static-pod-resources/etcd-certs/secrets/etcd-all-certs/etcd-peer-sno.crt":         "crt",
		"/etc/kubernetes/static-pod-resources/etcd-certs/secrets/etcd-all-certs/etcd-peer-sno.key":         "key",
		"/etc/kubernetes/static-pod-resources/etcd-certs/configmaps/etcd-all-bundles/server-ca-bundle.crt": "ca",
		"/var/lib/kubelet/pki/kubelet-client-current.pem":                                                  "pem",
	} {
		require.NoError(t, w.node.Seed(path, []byte(text)))
	}
	w.node.Reserve(rehearsal.Kind(w.ports()).Reservation(w.ports().Node))
	w.node.Command("lca-cli ip-config rehearse", func(ctx context.Context, _ []string) error {
		release, err := w.node.Lock().Acquire(ctx, host.Holder{Operation: rehearsal.Flow, Program: "lca-cli ip-config rehearse"})
		if err != nil {
			return err
		}
		defer release()
		return rehearsal.RunWrapped(ctx, w.ports(), operation.Instruments{}, w.bomb.In)
	})
	return w
}

// knownCluster says of the cluster what its API would.
type knownCluster struct{ change.Cluster }

func (knownCluster) Inputs(context.Context, string) (change.Inputs, error) {
	return change.Inputs{NodeAddresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")}}, nil
}

func (w *world) ports() rehearsal.Ports {
	return rehearsal.Ports{
		Ports:  change.Ports{Node: w.node.Ports(), Cluster: knownCluster{}, Clock: w.clock, Log: slog.New(slog.DiscardHandler)},
		Copies: w.node.Copies(), ControlPlane: w.node.ControlPlane(),
	}
}

func request(id string) rehearsal.Request {
	return rehearsal.Request{OperationID: id, AddressChanges: []string{"192.0.2.10 -> 198.51.100.20"}, Checks: "passed",
		Change: ipconfig.Request{OperationID: id, IPv4Address: "198.51.100.20", IPv4MachineNetwork: "198.51.100.0/24"}}
}

// ask requests the rehearsal and starts its unit, as the verb does; one that is unfinished is carried on.
func (w *world) ask(ctx context.Context) error {
	if err := w.node.Seed("/proc/meminfo", []byte(cmp.Or(w.memory, "MemTotal: 32000000 kB\nMemAvailable:   16000000 kB\n"))); err != nil {
		return err
	}
	kind, files := rehearsal.Kind(w.ports()), w.node.Files()
	if _, found, err := kind.Find(files); err != nil {
		return err
	} else if !found {
		w.ops++
		r := request(operation.NewID(w.clock.Time.Add(time.Duration(w.ops)*time.Hour), uint16(w.ops)))
		if err := operation.WriteJSON(files, rehearsal.RequestFile, r); err != nil {
			return err
		}
	}
	_ = w.node.Transients().Forget(ctx, rehearsal.Unit)
	return w.node.Transients().Launch(ctx, host.Transient{
		Unit: rehearsal.Unit, Argv: []string{host.CLI, "ip-config", "rehearse", "--run"}, Restart: true, Background: true})
}

// Live implements flowtest.World. After a power cut the administrator asks once more.
func (w *world) Live(bomb *flowtest.Bomb) error {
	w.bomb = bomb
	operationtest.Arm(bomb, w.node, w.kill)
	for range 4 {
		if w.unfinished() || w.report().Result == "" {
			err := w.node.Run(context.Background(), w.ask)
			if err != nil && !errors.Is(err, hosttest.PowerCut) {
				return err
			}
		}
		if err := w.node.Settle(context.Background(), 4); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) unfinished() bool {
	_, err := w.node.Files().Stat(rehearsal.RequestFile)
	return err == nil
}

func (w *world) report() lcav1.Rehearsal {
	r, _, _ := rehearsal.ReadReport(w.node.Files())
	return r
}

// Judge implements flowtest.World: nothing is left of the rehearsal but its report, and the cluster runs as before.
func (w *world) Judge() (string, error) {
	d := w.node.Describe()
	if d.Booted != "rhcos" || d.Default != "rhcos" || len(d.Stateroots) != 1 {
		return "", fmt.Errorf("%s runs, %s boots next, of %d", d.Booted, d.Default, len(d.Stateroots))
	}
	if err := w.node.ClusterUp(); err != nil {
		return "", fmt.Errorf("the cluster is down: %w", err)
	}
	for _, file := range []string{rehearsal.Dir, rehearsal.RequestFile, "/etc/tmpfiles.d/lca-rehearsal.conf"} {
		if _, err := w.node.Files().Stat(file); !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%s is left", file)
		}
	}
	if c := w.node.Copied(); len(c.Own) > 0 || len(c.Running) > 0 {
		return "", fmt.Errorf("the control plane of the copy runs: %v", c)
	}
	switch r := w.report(); r.Result {
	case lcav1.RehearsalPassed, lcav1.RehearsalAborted:
		return string(r.Result), nil
	default:
		return "", fmt.Errorf("the report says %s: %s", r.Result, r.Message)
	}
}

// Again implements flowtest.World: another rehearsal passes.
func (w *world) Again() error {
	w.bomb = nil
	return w.node.Run(context.Background(), func(ctx context.Context) error {
		if err := w.ask(ctx); err != nil {
			return err
		}
		if err := w.node.Settle(ctx, 1); err != nil {
			return err
		}
		if r := w.report(); r.Result != lcav1.RehearsalPassed {
			return fmt.Errorf("another rehearsal: %s: %s: %v", r.Result, r.Message, r.Proofs)
		}
		return nil
	})
}

func TestCrashMatrix(t *testing.T) {
	for name, kill := range map[string]bool{"power-cut": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			plan := rehearsal.Plan(newWorld(t, kill).ports(), request("20010909-014640-0001"))
			require.NoError(t, plan.Validate())
			res := flowtest.Matrix(t, []flow.Plan{plan}, func(t *testing.T) flowtest.World { return newWorld(t, kill) })
			t.Logf("%s: %s", name, res)
			require.Equal(t, res.Cells, res.Verdicts["Passed"]+res.Verdicts["Aborted"])
			// A reboot ends a rehearsal; one whose process dies alone is carried on.
			require.Positive(t, res.Verdicts[map[bool]string{true: "Passed", false: "Aborted"}[kill]])
		})
	}
}

func TestARehearsalReportsWhatItProvedAndWhatItCannot(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "Passed", verdict)
	for _, p := range w.report().Proofs {
		require.NotEmpty(t, p.Message, p.Name)
		require.NotEqual(t, "not tried", p.Message, p.Name)
	}
	require.NotEmpty(t, w.report().Outage)
}

// TestAnyOtherOperationEndsARehearsal has a change ask for the node at every step of a rehearsal.
func TestAnyOtherOperationEndsARehearsal(t *testing.T) {
	steps := rehearsal.Plan(newWorld(t, false).ports(), request("20010909-014640-0001")).Steps
	for _, s := range steps {
		t.Run(s.Name, func(t *testing.T) {
			w := newWorld(t, false)
			stopped := false
			w.node.Command("lca-cli ip-config rehearse", func(ctx context.Context, _ []string) error {
				ctx, stop := context.WithCancel(ctx)
				defer stop()
				return rehearsal.Run(ctx, w.ports(), operation.Instruments{Watch: func(e flow.Entry) {
					if e.Kind == flow.KindIntent && e.Step == s.Name {
						stopped = true
						stop() // as systemd does
					}
				}})
			})
			require.NoError(t, w.node.Run(t.Context(), w.ask))
			require.NoError(t, w.node.Settle(t.Context(), 1))
			require.True(t, stopped)
			_, err := w.Judge()
			require.NoError(t, err)
		})
	}
}

// TestARehearsalYields: the lock's rule, on the reservation that the kind gives.
func TestARehearsalYields(t *testing.T) {
	w := newWorld(t, false)
	n := w.ports()
	require.NoError(t, operation.WriteJSON(n.Files, rehearsal.RequestFile, request("20010909-014640-0001")))
	r := rehearsal.Kind(n).Reservation(n.Node)
	require.NotNil(t, r.Yield)
	release, err := w.node.Lock().Acquire(t.Context(), host.Holder{Operation: "ip-config 20260102-030405-beef", Program: "lca-cli ip-config pre-pivot"})
	require.NoError(t, err)
	defer release()
	require.NoError(t, rehearsal.GiveWay(t.Context(), n, errors.New("another operation holds this node")))
	require.Equal(t, lcav1.RehearsalAborted, w.report().Result)
	require.False(t, w.unfinished())
}

func TestTooLittleMemoryIsNoFailure(t *testing.T) {
	w := newWorld(t, false)
	w.memory = "MemAvailable:   2000000 kB\n"
	require.NoError(t, w.Live(nil))
	r := w.report()
	require.Equal(t, lcav1.RehearsalIncomplete, r.Result)
	for _, p := range r.Proofs {
		if p.Name == rehearsal.ProofEtcd {
			require.Equal(t, lcav1.ProofNotProved, p.Result)
			require.Contains(t, p.Message, "1953 MiB of memory are available")
		}
		if p.Name == rehearsal.ProofAPI {
			require.True(t, strings.HasPrefix(p.Message, "not tried: etcd is not proved"), p.Message)
		}
	}
}

func TestTooLittleDiskIsNotFilled(t *testing.T) {
	w := newWorld(t, false)
	w.node.SetFree(1 << 30)
	require.NoError(t, w.Live(nil))
	r := w.report()
	require.Equal(t, lcav1.RehearsalIncomplete, r.Result)
	for _, p := range r.Proofs {
		require.True(t, p.Result == lcav1.ProofNotProved || p.Name == rehearsal.ProofChecks, p.Name)
		if p.Name == rehearsal.ProofCopy {
			require.Contains(t, p.Message, "and 1023 MiB are free")
		}
	}
}
