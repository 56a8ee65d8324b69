package restore_test

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation/operationtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/create"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

const (
	seedName    = "registry.example.com/team/seed:1"
	seedAddress = "192.0.2.10"
)

// published is an image that the flow seed-create has made; it is the same for all tests, which only read it.
var published = sync.OnceValue(func() *hosttest.Registry {
	n := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos", Addresses: []netip.Prefix{netip.MustParsePrefix(seedAddress + "/24")},
		Gateways: []netip.Addr{netip.MustParseAddr("192.0.2.1")}})
	for file, text := range map[string]string{
		"/ostree/repo/config": "[core]\n", "/var/lib/app/data": "of the seed", "/etc/app.conf": "of the seed", "/etc/machine-id": "seed",
		"/etc/ssh/ssh_host_rsa_key": "of the seed", "/etc/lvm/devices/system.devices": "of the seed", host.CLIInVar: "the seed's program",
	} {
		must(n.Seed(file, []byte(text)))
	}
	must(n.Files().Remove("/etc/hosts"))
	registry := hosttest.NewRegistry()
	p := create.Ports{
		Node: n.Ports(), Archives: n.Archives(), Registries: n.Registries(registry), Copies: n.Copies(), Reports: n.Reports(),
		Cluster: upAgain{n}, Clock: &operationtest.Clock{Time: time.Unix(1e9, 0).UTC(), Least: 20 * time.Second}, Log: slog.New(slog.DiscardHandler),
	}
	r := seed.Request{OperationID: operation.NewID(time.Unix(1e9, 0), 1), SeedImage: seedName, Cluster: seed.ClusterInfo{
		OCPVersion: "4.20.3", ClusterName: "sno", BaseDomain: "example.org", NodeIPs: []string{seedAddress}, SNOHostname: "node0",
		MachineNetworks: []string{"192.0.2.0/24"}, ContainerStorageTarget: hosttest.ContainerStorage,
	}}
	must(seed.WriteRequest(context.Background(), operation.Intake{Files: n.Files(), Boots: n.Power(), Log: slog.New(slog.DiscardHandler)}, r))
	must(n.Run(context.Background(), func(ctx context.Context) error { return create.Run(ctx, p, operation.Instruments{}) }))
	return registry
})

type upAgain struct{ n *hosttest.Node }

func (u upAgain) Ready(context.Context) error { return u.n.ClusterUp() }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// misfit is an image that is like a seed image but for one thing.
type misfit struct {
	arch, format, storage, says string
	node                        seed.NodeFacts
}

// publish publishes it, with a configuration and one content.
func (k misfit) publish(t *testing.T, w *world) {
	t.Helper()
	ctx := t.Context()
	repo, err := w.node.Registries(w.registry).Open(ctx, host.RegistryAccess{Image: seedName, Push: true})
	require.NoError(t, err)
	p := &image.Publisher{Repository: repo, Tag: seed.Tag(seedName)}
	require.NoError(t, p.Add(ctx, image.Bytes(image.Manifest, 0o644, []byte("{}"))))
	text := func(v any) string {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		return string(data)
	}
	_, err = p.Finish(ctx, cmp.Or(k.arch, runtime.GOARCH), map[string]string{
		image.LabelFormat:  cmp.Or(k.format, image.FormatVersion),
		image.LabelCluster: text(seed.ClusterInfo{NodeIPs: []string{seedAddress}, ContainerStorageTarget: k.storage}),
		image.LabelNode:    text(k.node),
	})
	require.NoError(t, err)
}
