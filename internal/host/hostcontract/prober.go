package hostcontract

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// ProberFixture is a subject of TestProber: a node with neighbours on its link.
type ProberFixture struct {
	Prober host.Prober
	Link   string
	// Own are addresses of the node, Gateways and Servers of neighbours that route and resolve.
	Own, Gateways, Servers []netip.Addr
	// Name is one that the servers answer for.
	Name string
	// Taken are had by a neighbour, Free by nobody; Proxied lie in networks for all of which one
	// neighbour answers.
	Taken, Free, Proxied []netip.Prefix
	// Good are endpoints that answer well, Bad are those that do not. Each has one of every kind.
	Good, Bad []host.Endpoint
}

// TestProber proves what host.Prober promises.
func TestProber(t *testing.T, fresh func(t *testing.T) ProberFixture) {
	t.Helper()
	contract(t, fresh, []behaviour[ProberFixture]{
		{"a gateway answers", gatewaysLive},
		{"a gateway that is not there shows none", gatewaysDead},
		{"a name server answers", serversAnswer},
		{"an address that a neighbour has is in use, by whom is said", takenFound},
		{"an unused address, or the node's own, is free", freeFound},
		{"a neighbour that answers for all addresses is a proxy", proxyFound},
		{"the answer is heard on any of the links", allLinksHeard},
		{"a link that does not exist is an error", noSuchLink},
		{"an endpoint that answers well is reached", goodReached},
		{"an endpoint that does not is an error that names it", badNamed},
	})
}

func briefly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	t.Cleanup(cancel)
	return ctx
}

func patiently(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	t.Cleanup(cancel)
	return ctx
}

func gatewaysLive(t *testing.T, f ProberFixture) {
	for _, gw := range f.Gateways {
		require.NoError(t, f.Prober.Gateway(patiently(t), gw, f.Link), gw)
	}
}

func gatewaysDead(t *testing.T, f ProberFixture) {
	for _, a := range f.Free {
		require.Error(t, f.Prober.Gateway(briefly(t), a.Addr(), f.Link), a)
	}
}

func serversAnswer(t *testing.T, f ProberFixture) {
	for _, s := range f.Servers {
		require.NoError(t, f.Prober.DNS(patiently(t), s), s)
		require.NoError(t, f.Prober.DNS(patiently(t), s, f.Name), s)
	}
}

func takenFound(t *testing.T, f ProberFixture) {
	for _, a := range f.Taken {
		claim, err := f.Prober.InUse(patiently(t), a, f.Link)
		require.NoError(t, err, a)
		require.NotEmpty(t, claim.Hardware, a)
		require.False(t, claim.Proxy, a)
	}
}

func freeFound(t *testing.T, f ProberFixture) {
	for _, own := range f.Own {
		f.Free = append(f.Free, netip.PrefixFrom(own, own.BitLen()))
	}
	for _, a := range f.Free {
		claim, err := f.Prober.InUse(patiently(t), a, f.Link)
		require.NoError(t, err, a)
		require.Zero(t, claim, a)
	}
}

func proxyFound(t *testing.T, f ProberFixture) {
	for _, a := range f.Proxied {
		claim, err := f.Prober.InUse(patiently(t), a, f.Link)
		require.NoError(t, err, a)
		require.NotEmpty(t, claim.Hardware, a)
		require.True(t, claim.Proxy, a)
	}
}

func allLinksHeard(t *testing.T, f ProberFixture) {
	claim, err := f.Prober.InUse(patiently(t), f.Taken[0], f.Link, f.Link)
	require.NoError(t, err)
	require.NotEmpty(t, claim.Hardware)
}

func noSuchLink(t *testing.T, f ProberFixture) {
	require.Error(t, f.Prober.Gateway(briefly(t), f.Gateways[0], "nosuch0"))
	_, err := f.Prober.InUse(briefly(t), f.Free[0], "nosuch0")
	require.Error(t, err)
}

func goodReached(t *testing.T, f ProberFixture) {
	for _, e := range f.Good {
		require.NoError(t, f.Prober.Reach(patiently(t), e), e)
	}
}

func badNamed(t *testing.T, f ProberFixture) {
	f.Bad = append(f.Bad, host.Endpoint{Kind: "smoke", Target: "signal"})
	for _, e := range f.Bad {
		require.ErrorContains(t, f.Prober.Reach(briefly(t), e), e.Target, e)
	}
}
