package seed_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/create"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/preflight"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
)

const (
	imageName = "registry.example.com/team/seed:1"
	pulled    = "cGxhbnRlZDpwbGFudGVkLXB1bGwtc2VjcmV0"
	site      = `apiVersion: relocation.lca.openshift.io/v1
kind: SiteConfig
clusterName: store42
baseDomain: edge.example.org
hostname: store42
machineNetworks: [203.0.113.0/24]
network:
  interfaces:
  - name: enp1s0
    type: ethernet
    state: up
    ipv4: {enabled: true, dhcp: false, address: [{ip: 203.0.113.20, prefix-length: 24}]}
sshKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGJv3Xu1yJq6D4Jzc2vBzC5Ch4UeYAsTqz8Qm0eTqv1l admin@example.org"]
pullSecret: '{"auths":{"registry.example.com":{"auth":"` + pulled + `"}}}'
`
)

// console is a node with an administrator at its console.
type console struct {
	t        *testing.T
	node     *hosttest.Node
	registry *hosttest.Registry
	clock    *hurried
	out      bytes.Buffer
	inputs   map[string]string
	facts    preflight.Facts
	target   restore.ClusterFacts
}

// hurried is a clock that is moved on by whoever sleeps.
type hurried struct{ now time.Time }

func (c *hurried) Now() time.Time { return c.now }

func (c *hurried) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

func newConsole(t *testing.T) *console {
	t.Helper()
	c := &console{t: t, node: hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"}), registry: hosttest.NewRegistry(),
		inputs: map[string]string{"site.yaml": site}, target: restore.ClusterFacts{Version: "4.19.1"}}
	c.clock = &hurried{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	c.node.Command("lca-cli seed restore", func(ctx context.Context, _ []string) error {
		return restore.Run(ctx, c.ports(), operation.Instruments{})
	})
	c.publish(seed.NodeFacts{})
	c.node.Reserve(restore.Kind(restore.Ports{}).Reservation(c.node.Ports()))
	return c
}

// publish publishes an image of the system that the node runs, whose cluster has no data.
func (c *console) publish(facts seed.NodeFacts) {
	c.t.Helper()
	ctx := c.t.Context()
	all, err := c.node.Deployments().List(ctx)
	require.NoError(c.t, err)
	info, err := json.Marshal(seed.ClusterInfo{OCPVersion: "4.20.3", ClusterName: "sno", BaseDomain: "example.org", SNOHostname: "node0",
		NodeIPs: []string{"192.0.2.10"}, MachineNetworks: []string{"192.0.2.0/24"}, ContainerStorageTarget: hosttest.ContainerStorage})
	require.NoError(c.t, err)
	node, err := json.Marshal(facts)
	require.NoError(c.t, err)
	repo, err := c.node.Registries(c.registry).Open(ctx, host.RegistryAccess{Image: imageName, Push: true})
	require.NoError(c.t, err)
	p := &image.Publisher{Repository: repo, Tag: "1"}
	sums := &image.SumList{}
	for name, text := range map[string]string{
		image.Var: "[]", image.Etc: "[]", image.Repo: "[]", image.EtcDeletions: "\n", image.Containers: "\n", image.Manifest: string(info),
		image.RPMOSTree: fmt.Sprintf(`{"deployments":[{"checksum":%q,"booted":true}]}`, all[0].Checksum),
	} {
		require.NoError(c.t, p.Add(ctx, image.Bytes(name, 0o644, []byte(text))))
	}
	for _, l := range p.Layers() {
		sums.AddHex(l.Content, l.File)
	}
	require.NoError(c.t, p.Add(ctx, image.Bytes(image.Sums, 0o644, sums.Text())))
	_, err = p.Finish(ctx, runtime.GOARCH, map[string]string{
		image.LabelFormat: image.FormatVersion, image.LabelCluster: string(info), image.LabelNode: string(node)})
	require.NoError(c.t, err)
}

func (c *console) ports() restore.Ports {
	n := c.node
	return restore.Ports{
		Node: n.Ports(), Commits: n.Commits(), Archives: n.Archives(), Registries: n.Registries(c.registry), Cluster: c, Clock: c.clock,
		Log: slog.New(slog.DiscardHandler), NewID: func() string { return operation.NewID(c.clock.now, 1) },
	}
}

// Target implements restore.TargetCluster.
func (c *console) Target(context.Context) (restore.ClusterFacts, error) { return c.target, nil }

func (c *console) wiring() cli.Wiring {
	n := c.node
	return cli.Wiring{
		Wiring: verb.Wiring{Lock: n.Lock(), LockTimeout: 20 * time.Millisecond, Log: slog.New(slog.DiscardHandler), Out: &c.out, Clock: c.clock},
		Restore: func(context.Context, bool) (restore.Ports, operation.Instruments, error) {
			return c.ports(), operation.Instruments{}, nil
		},
		Site: func(context.Context, bool) (onsite.Ports, operation.Instruments, error) {
			return onsite.Ports{Node: n.Ports(), Clock: c.clock, Log: slog.New(slog.DiscardHandler)}, operation.Instruments{}, nil
		},
		Node: func(context.Context, bool) (create.Ports, operation.Instruments, error) {
			return create.Ports{Node: n.Ports(), Clock: c.clock, Log: slog.New(slog.DiscardHandler)}, operation.Instruments{}, nil
		},
		Survey: func(_ context.Context, asked lcav1.SeedGeneratorSpec) (lcav1.SeedGeneratorSpec, preflight.Facts, error) {
			return asked, c.facts, nil
		},
		Target: c, Registries: n.Registries(c.registry), Archives: n.Archives(), Files: n.Files(),
		ReadInput: func(name string) ([]byte, error) {
			if text, ok := c.inputs[name]; ok {
				return []byte(text), nil
			}
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		},
	}
}

func (c *console) run(args ...string) error {
	c.out.Reset()
	cmd := cli.Command(c.wiring())
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return c.node.Run(c.t.Context(), func(ctx context.Context) error { return cmd.ExecuteContext(ctx) })
}

// begun is a restore that was accepted, and whose unit waits.
func (c *console) begun() {
	c.t.Helper()
	_, err := restore.Begin(c.t.Context(), c.ports(), restore.Ask{Image: imageName, Site: []byte(site), Watchdog: time.Hour})
	require.NoError(c.t, err)
}

func TestARestoreIsAcceptedRunsAsAUnitAndReboots(t *testing.T) {
	c := newConsole(t)
	w := c.wiring()
	w.Clock = settling{c}
	cmd := cli.Command(w)
	cmd.SetArgs([]string{"restore", imageName, "--site-config", "site.yaml"})
	err := c.node.Run(t.Context(), func(ctx context.Context) error { return cmd.ExecuteContext(ctx) })
	require.Error(t, err, "the reboot ends the verb, too")
	require.True(t, relocation.IsSite(c.node.Describe().Default))
	require.Equal(t, "rhcos", c.node.Describe().Booted)
}

// settling lets the node's units run while the verb waits for them.
type settling struct{ c *console }

func (s settling) Now() time.Time { return s.c.clock.now }

func (s settling) Sleep(ctx context.Context, _ time.Duration) error {
	if err := s.c.run("restore", "--run"); err != nil && !errors.Is(err, hosttest.Rebooted) {
		return err
	}
	return ctx.Err()
}

func TestARefusedRestoreHasExitCodeThreeAndTouchesNothing(t *testing.T) {
	c := newConsole(t)
	c.inputs["site.yaml"] = "apiVersion: relocation.lca.openshift.io/v1\nkind: SiteConfig\n"
	before := c.node.Snapshot(true)
	err := c.run("restore", imageName, "--site-config", "site.yaml")
	require.ErrorAs(t, err, new(*verb.FinalError))
	require.ErrorContains(t, err, "pullSecret")
	require.ErrorContains(t, err, "baseDomain")
	require.Empty(t, before.Diff(c.node.Snapshot(true)))
	require.ErrorContains(t, c.run("restore", imageName), "--site-config")
}

// A key that was named and not used would be worse than none.
func TestAKeyThatIsNamedIsAskedFor(t *testing.T) {
	c := newConsole(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	c.inputs["cosign.pub"] = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	c.inputs["empty"] = ""
	before := c.node.Snapshot(true)
	for file, want := range map[string]string{"cosign.pub": image.ErrUnsigned.Error(), "empty": "empty is empty"} {
		require.ErrorContains(t, c.run("restore", imageName, "--site-config", "site.yaml", "--key", file), want)
	}
	require.Empty(t, before.Diff(c.node.Snapshot(true)))
	require.Error(t, c.run("verify", imageName, "--key", "cosign.pub"))
	require.Contains(t, c.out.String(), "PROBLEM: "+image.ErrUnsigned.Error())
}

func TestARestoreIsRefusedAmidAnotherOperation(t *testing.T) {
	c := newConsole(t)
	c.node.Reserve(host.Reservation{Flow: "ip-config", Unfinished: func(context.Context) (host.Holder, bool, error) {
		return host.Holder{Operation: "ip-config x", Phase: "post-pivot, step 3 of 9"}, true, nil
	}})
	before := c.node.Snapshot(true)
	err := c.run("restore", imageName, "--site-config", "site.yaml")
	require.ErrorAs(t, err, new(*host.BusyError))
	require.ErrorContains(t, err, "ip-config x")
	require.Empty(t, before.Diff(c.node.Snapshot(true)), "nothing was stored")
}

func TestAbortGivesARestoreUp(t *testing.T) {
	c := newConsole(t)
	c.begun()
	require.NoError(t, c.run("status"))
	require.Contains(t, c.out.String(), "restoring; this cluster runs until the reboot")
	require.Contains(t, c.out.String(), imageName)
	require.NoError(t, c.run("abort"))
	_, err := c.node.Files().Stat(seed.RestoreDir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, c.run("status"))
	require.Contains(t, c.out.String(), "no seed image was made or restored here")
}

// TestDamagedRequestsAreShownAndEnded: they keep a person neither from the status nor from the way out.
func TestDamagedRequestsAreShownAndEnded(t *testing.T) {
	for _, file := range []string{seed.RestoreFile, seed.RequestFile} {
		c := newConsole(t)
		require.NoError(t, c.node.Files().Write(file, []byte("{"), 0o600))
		require.NoError(t, c.run("status"))
		require.Contains(t, c.out.String(), file)
		require.Contains(t, c.out.String(), "'lca-cli seed abort' ends")
		require.ErrorAs(t, c.run("abort"), new(*verb.FinalError), "nothing is under way")
		require.NoError(t, c.run("status"))
		require.NotContains(t, c.out.String(), file)
	}
}

func TestRollbackAndCommitNeedARestoredImage(t *testing.T) {
	c := newConsole(t)
	for _, verbs := range []string{"rollback", "commit"} {
		err := c.run(verbs)
		require.ErrorAs(t, err, new(*verb.FinalError), verbs)
		require.ErrorContains(t, err, "does not run a restored seed image", verbs)
	}
}

func TestRollbackGoesBackFromARestoredImage(t *testing.T) {
	c := newConsole(t)
	c.begun()
	require.ErrorIs(t, c.run("restore", "--run"), hosttest.Rebooted)
	c.node.Command("lca-cli relocation reconfigure", func(context.Context, []string) error { return hosttest.ErrStays })
	c.node.Command("lca-cli relocation monitor", func(context.Context, []string) error { return hosttest.ErrStays })
	c.node.Command("lca-cli relocation serve", func(context.Context, []string) error { return hosttest.ErrStays })
	require.NoError(t, c.node.Settle(t.Context(), 2))
	require.True(t, relocation.IsSite(c.node.Describe().Booted))
	require.NoError(t, c.run("status", "-o", "json"))
	var status struct{ Where, WayBack, Operation string }
	require.NoError(t, json.Unmarshal(c.out.Bytes(), &status))
	require.Equal(t, "taking the site's identity", status.Where)
	require.Equal(t, "rhcos", status.WayBack)

	// The terminal may end with the network: a unit of its own goes back, and what was asked for outlives a power cut.
	c.node.Command("lca-cli relocation rollback", func(ctx context.Context, _ []string) error {
		ports, with, err := c.wiring().Site(ctx, true)
		if err != nil {
			return err
		}
		s := &onsite.Service{Ports: ports, With: with}
		return s.RollBack(ctx, func(context.Context) (func(), error) { return func() {}, nil })
	})
	require.NoError(t, c.run("rollback"))
	pending, found, err := relocation.ReadPending(c.node.Files())
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, restore.CauseRequested, pending.Cause)
	require.NoError(t, c.node.Settle(t.Context(), 2))
	require.Equal(t, "rhcos", c.node.Describe().Booted)
	require.NoError(t, c.node.ClusterUp(), "the cluster of before starts by itself")
	require.NoError(t, c.run("status"))
	require.Contains(t, c.out.String(), "rolled back; the cluster of before runs")
	require.Contains(t, c.out.String(), restore.CauseRequested)
}

func TestVerifyComparesTheNodeWithTheSeed(t *testing.T) {
	c := newConsole(t)
	require.NoError(t, c.run("verify", imageName, "--target"))
	require.Contains(t, c.out.String(), "whole and usable")
	require.Regexp(t, `OpenShift version +4\.20\.3 +4\.19\.1 +differs`, c.out.String())
	require.Regexp(t, `architecture +`+runtime.GOARCH+` +`+runtime.GOARCH+` +fits`, c.out.String())

	c.publish(seed.NodeFacts{FIPS: true, Reserved: "0-3"})
	c.target.Reserved = "0-1"
	err := c.run("verify", imageName, "--target", "-o", "json")
	require.ErrorAs(t, err, new(*verb.FinalError))
	var answer cli.Verification
	require.NoError(t, json.Unmarshal(c.out.Bytes(), &answer))
	require.Len(t, answer.Problems, 2)
	require.Contains(t, answer.Problems[0]+answer.Problems[1], "FIPS: the seed has on, this node has off")
	require.Contains(t, answer.Problems[0]+answer.Problems[1], "reserved CPUs: the seed has 0-3, this node has 0-1")
}

func TestCheckSaysWhatToMend(t *testing.T) {
	c := newConsole(t)
	err := c.run("check", "-o", "json")
	require.ErrorAs(t, err, new(*verb.FinalError), "exit code 3")
	var answer cli.Checked
	require.NoError(t, json.Unmarshal(c.out.Bytes(), &answer))
	require.True(t, answer.Refused)
	require.Len(t, answer.Checks, len(preflight.Checks()))
	for _, check := range answer.Checks {
		if check.Name == preflight.CheckSeedImage || check.Name == preflight.CheckSeedAuth {
			require.Equal(t, lcav1.PreflightUnknown, check.Result, "no image was named")
		}
		if check.Name == preflight.CheckContainerStorage {
			require.Equal(t, lcav1.PreflightFailed, check.Result)
			require.NotEmpty(t, check.Hint)
		}
	}

	c.facts = preflight.Facts{
		Cluster: cluster.SeedFacts{ControlPlaneNodes: 1, OADP: cluster.OADP{Name: "oadp", Version: "1.4.0"}}, ContainerStorage: "/dev/sda5",
		SecretFound: true, Auth: []byte(`{"auths":{"registry.example.com":{"auth":"` + pulled + `"}}}`), PullSecret: []byte("{}"), CPUs: 4,
		DnsmasqScript: "sno_dnsmasq_configuration_overrides SNO_CLUSTER_NAME_OVERRIDE SNO_BASE_DOMAIN_OVERRIDE SNO_DNSMASQ_IP_OVERRIDE",
	}
	require.NoError(t, c.run("check", "--seed-image", imageName))
	require.NotContains(t, c.out.String(), "Failed")
	require.NotContains(t, c.out.String(), pulled, "credentials are never shown")
	require.NoError(t, c.run("check", "--seed-image", imageName, "-o", "yaml"))
	require.Contains(t, c.out.String(), "refused: false")
}

func TestHelpOfRestoreHasAnExample(t *testing.T) {
	c := newConsole(t)
	cmd := cli.Command(c.wiring())
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"restore", "--help"})
	require.NoError(t, cmd.Execute())
	require.Contains(t, out.String(), "Examples:\n  kubectl lca relocation config init > site.yaml")
	require.NotContains(t, out.String(), "--run")
}
