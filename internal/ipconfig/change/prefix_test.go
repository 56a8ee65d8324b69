package change_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// TestTheCardKeepsItsPrefixLength: the machine network of the install-config is 10.0.0.0/16, the link a /24 of it.
func TestTheCardKeepsItsPrefixLength(t *testing.T) {
	w := newWorldAt(t, "10.0.1.5/24", "10.0.1.1")
	require.NoError(t, w.node.Files().Write(host.NodeIPHint, []byte("KUBELET_NODEIP_HINT=10.0.1.0\n"), 0o640))
	now := ipconfig.Current{IPv4: &lcav1.IPStatus{Address: "10.0.1.5", MachineNetwork: "10.0.0.0/16"}}
	require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error {
		doc, err := w.node.Network().Observe(ctx)
		if err != nil {
			return err
		}
		now.Describe(doc)
		spec := lcav1.IPConfigSpec{IPv4: &lcav1.IPv4Config{Address: "10.0.7.77", Gateway: "10.0.7.1"}, DNSServers: []string{"10.0.7.1"}}
		if err := w.hand(ctx, spec, now); err != nil {
			return err
		}
		return w.launch(ctx, ipconfig.UnitPrePivot, "ip-config", "pre-pivot")
	}))
	require.NoError(t, w.rest(t.Context()))
	require.EqualValues(t, 24, now.IPv4.PrefixLength)
	d := w.node.Describe()
	require.Equal(t, []string{"10.0.7.77"}, d.Running)
	require.Equal(t, []string{"10.0.7.77/24"}, d.Stateroots[d.Booted].Profiles)
	w.requireHint("KUBELET_NODEIP_HINT=10.0.7.0\n")
	config, err := w.node.Files().Read(host.RecertConfig)
	require.NoError(t, err)
	require.Contains(t, string(config), `"10.0.0.0/16"`, "the cluster's machine network stays")
}
