package seed_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/create"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/record"
)

const seedImage = "registry.example.com/seeds/sno:1"

// terminal is an administrator at the terminal of a node whose API is of no use.
type terminal struct {
	node     *hosttest.Node
	registry *hosttest.Registry
	inputs   map[string]string
	out, log bytes.Buffer
	// units replace the node's in the verbs; nil for its own.
	units host.Units
}

// nodeTime is a clock that lets the node's units run while a verb waits.
type nodeTime struct{ node *hosttest.Node }

func (nodeTime) Now() time.Time { return time.Unix(1e9, 0) }

func (c nodeTime) Sleep(ctx context.Context, _ time.Duration) error {
	if err := c.node.Settle(ctx, 1); err != nil {
		return err
	}
	return ctx.Err()
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	c := &terminal{node: hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"}), registry: hosttest.NewRegistry(), inputs: map[string]string{
		"auth.json": `{"auths":{}}`, "manifest.json": `{"seed_cluster_ocp_version":"4.20.3","base_domain":"given.example.org"}`, "ca.pem": "an authority",
	}}
	require.NoError(t, c.node.Seed("/ostree/repo/config", []byte("[core]\n")))
	c.node.Command("lca-cli seed create", func(ctx context.Context, argv []string) error { return c.execute(ctx, argv[2:]) })
	return c
}

// ready is the cluster of the node.
type ready struct{ node *hosttest.Node }

func (r ready) Ready(context.Context) error { return r.node.ClusterUp() }

func (c *terminal) execute(ctx context.Context, args []string) error {
	log := slog.New(slog.NewTextHandler(&c.log, nil))
	cmd := cli.Command(cli.Wiring{
		Wiring: verb.Wiring{Lock: c.node.Lock(), LockTimeout: 100 * time.Millisecond, Log: log, Out: &c.out, Clock: nodeTime{c.node}}, Files: c.node.Files(), Registries: c.node.Registries(c.registry), Archives: c.node.Archives(),
		Node: func(context.Context, bool) (create.Ports, operation.Instruments, error) {
			ports := c.ports(log)
			if c.units != nil {
				ports.Units = c.units
			}
			return ports, operation.Instruments{}, nil
		},
		ReadInput: func(path string) ([]byte, error) {
			if text, ok := c.inputs[path]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		},
		NewID: func() string { return operation.NewID(time.Unix(1e9, 0), 7) },
	})
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return cmd.ExecuteContext(ctx)
}

func (c *terminal) ports(log *slog.Logger) create.Ports {
	return create.Ports{Node: c.node.Ports(), Archives: c.node.Archives(), Registries: c.node.Registries(c.registry),
		Copies: c.node.Copies(), Reports: c.node.Reports(), Cluster: ready{c.node}, Clock: flow.SystemClock{}, Log: log}
}

func (c *terminal) run(t *testing.T, args ...string) error {
	t.Helper()
	return c.node.Run(t.Context(), func(ctx context.Context) error { return c.execute(ctx, args) })
}

func TestAnImageIsMadeWithoutTheAPI(t *testing.T) {
	c := newTerminal(t)
	require.NoError(t, c.run(t, "create", "--image", seedImage, "--authfile", "auth.json", "--registry-ca", "ca.pem", "--manifest", "manifest.json"))
	require.Contains(t, c.out.String(), seedImage+" is published as sha256:")
	for _, step := range []string{"[1/10] ", "[10/10] "} {
		require.Contains(t, c.log.String(), step, "it is narrated step by step")
	}
	require.NoError(t, c.node.ClusterUp())
	repo, err := c.node.Registries(c.registry).Open(t.Context(), host.RegistryAccess{Image: seedImage})
	require.NoError(t, err)
	i, err := image.Open(t.Context(), repo, "1")
	require.NoError(t, err)
	require.Equal(t, "given.example.org", i.Cluster.BaseDomain)
	require.Equal(t, "sno", i.Cluster.ClusterName, "the node knows it")
	require.Equal(t, "4.20.3", i.Cluster.OCPVersion)
	for _, f := range []string{seed.AuthFile, seed.RequestFile} {
		_, err := c.node.Files().Stat(f)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
}

// A tag that could not be read beforehand is a warning where the image is made, and in the status.
func TestATagThatCouldNotBeReadIsSaid(t *testing.T) {
	const warning = "registry registry.example.com did not let the account read tag 1 of"
	c := newTerminal(t)
	c.registry.Fail = func(request string) error {
		if request == "get manifest" {
			return host.ErrRegistryForbidden
		}
		return nil
	}
	require.NoError(t, c.run(t, "create", "--image", seedImage, "--authfile", "auth.json"))
	require.Contains(t, c.out.String(), "warning: "+warning)

	o, err := seed.ReadOutcome(c.node.Files())
	require.NoError(t, err)
	later := newConsole(t)
	require.NoError(t, operation.WriteJSON(later.node.Files(), seed.OutcomeFile, o))
	require.NoError(t, later.run("status"))
	require.Contains(t, later.out.String(), warning)
}

func TestARequestUnderWayIsNotReplaced(t *testing.T) {
	var final *verb.FinalError
	c := newTerminal(t)
	require.NoError(t, seed.WriteRequest(t.Context(), operation.Intake{Files: c.node.Files(), Boots: c.node.Power(), Log: slog.New(slog.DiscardHandler)}, seed.Request{OperationID: "20250101-000000-0001", SeedImage: "r/other:1"}))
	err := c.run(t, "create", "--image", seedImage)
	require.ErrorAs(t, err, &final)
	require.ErrorContains(t, err, "lca-cli seed abort")

	c = newTerminal(t)
	require.NoError(t, record.Write(c.node.Files(), &record.Record{OperationID: "x"}))
	err = c.run(t, "create", "--image", seedImage)
	require.ErrorAs(t, err, &final)
	require.ErrorContains(t, err, "SeedGenerator")
}

func TestWhatCannotBeAskedForIsRefusedUntouched(t *testing.T) {
	for _, args := range [][]string{
		{"--image", "r/seed@sha256:00"}, {"--image", seedImage, "--authfile", "absent"}, {"--image", seedImage, "--manifest", "ca.pem"},
	} {
		c := newTerminal(t)
		require.Error(t, c.run(t, append([]string{"create"}, args...)...))
		_, err := c.node.Files().Stat(seed.RequestFile)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
}

func TestAFailureNamesItsCause(t *testing.T) {
	c := newTerminal(t)
	c.registry.Fail = func(string) error { return host.ErrRegistryPlain }
	err := c.run(t, "create", "--image", seedImage)
	var final *verb.FinalError
	require.ErrorAs(t, err, &final)
	require.ErrorContains(t, err, "over TLS alone")
	require.False(t, errors.Is(err, context.Canceled))
	require.NoError(t, c.node.ClusterUp())
}

// A request that is refused leaves nothing behind: neither credentials nor a request that holds the node.
func TestARefusedRequestStoresNothing(t *testing.T) {
	for name, c := range map[string]struct {
		busy bool
		want string
	}{
		"another operation is under way":    {busy: true, want: "ip-config x"},
		"a file that is named is not there": {want: "file does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			node := newTerminal(t)
			if c.busy {
				node.node.Reserve(host.Reservation{Flow: "ip-config", Unfinished: func(context.Context) (host.Holder, bool, error) {
					return host.Holder{Operation: "ip-config x", Phase: "post-pivot, step 3 of 9"}, true, nil
				}})
				node.inputs["cosign.key"] = "a key"
			}
			before := node.node.Snapshot(true)
			err := node.run(t, "create", "--image", seedImage, "--authfile", "auth.json", "--manifest", "manifest.json", "--signing-key", "cosign.key")
			require.ErrorContains(t, err, c.want)
			require.Empty(t, before.Diff(node.node.Snapshot(true)))
		})
	}
}
