package hostcontract

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// NetworkFixture is a subject of TestNetwork: a node whose one uplink has one static IPv4
// address and a default route, and boots with them.
type NetworkFixture struct {
	Network     host.Network
	Transaction host.NetworkTransaction
	Watch       host.NetworkWatch
	Planner     host.NetworkPlanner
	Trials      host.NetworkTrials
	// Uplink is an ethernet interface that is no port of a bridge.
	Uplink string
	// Old is its address; New is another that may be tried. Both with their network.
	Old, New netip.Prefix
	// OldGateway is the next hop of the default route; NewGateway lies in New's network.
	OldGateway, NewGateway netip.Addr
	// Boots returns the IPv4 addresses that the uplink would have after a reboot; nil leaves out
	// what needs it.
	Boots func(t *testing.T) []netip.Prefix
	// Without calls during while the manager of the network does not run.
	Without func(t *testing.T, during func())
	// Hold has another program hold a checkpoint of the network for that long.
	Hold func(t *testing.T, length time.Duration)
}

// TestNetwork proves what host.Network promises.
func TestNetwork(t *testing.T, fresh func(t *testing.T) NetworkFixture) {
	t.Helper()
	contract(t, fresh, []behaviour[NetworkFixture]{
		{"the network that runs is observed", networkObserved},
		{"an applied document runs and boots", networkApplied},
		{"the proof runs on the new network, before the disk is written", networkProofFirst},
		{"a failed proof puts the former network back and is the error", networkProofFails},
		{"a cancelled caller leaves the former network", networkCancelled},
		{"applying again finds everything in place", networkTwice},
		{"what a document does not mention stays", networkUnmentioned},
		{"a default route is replaced", networkRoute},
		{"name servers are replaced in their order", networkDNS},
		{"nothing to recover changes nothing", networkRecover},
		{"an ephemeral change runs and does not boot", networkEphemeral},
		{"a change begun and committed runs and boots", networkCommitted},
		{"a change begun and rolled back leaves the former network", networkRolledBack},
		{"a change begun and forgotten is undone when its time is over", networkExpired},
		{"a second change is refused while one is pending, and does not disturb it", networkDual},
		{"without a pending change there is nothing to commit or roll back", networkNothingPending},
		{"what is in place already leaves nothing pending", networkBeginInPlace},
		{"recovery leaves a pending change alone", networkRecoverPending},
		{"a watcher is woken by a change", networkWatched},
		{"a plan names what would change, and changes nothing", networkPlanned},
		{"a change without a manager says that it may succeed later, and does", networkUnavailable},
		{"what another program has on trial is listed, and can be settled", networkTrials},
	})
}

var errProof = errors.New("the new network carries nothing")

// moved is the document that takes the uplink from Old to New.
func (f NetworkFixture) moved() netstate.Document {
	no := false
	return netstate.Document{
		Interfaces: []netstate.Interface{{
			Name: f.Uplink, Type: netstate.TypeEthernet, State: netstate.StateUp,
			IPv4: &netstate.IP{Enabled: new(true), DHCP: &no, Addresses: []netstate.Address{
				{IP: f.New.Addr().String(), PrefixLength: f.New.Bits()},
			}},
		}},
		Routes: &netstate.Routes{Config: []netstate.Route{
			{Destination: "0.0.0.0/0", NextHopInterface: f.Uplink, NextHopAddress: f.OldGateway.String(), State: netstate.StateAbsent},
			{Destination: "0.0.0.0/0", NextHopInterface: f.Uplink, NextHopAddress: f.NewGateway.String(), Metric: 48, TableID: 254},
		}},
	}
}

func (f NetworkFixture) observe(t *testing.T) netstate.Document {
	t.Helper()
	d, err := f.Network.Observe(t.Context())
	noError(t, err)
	return d
}

// addresses of the uplink that run.
func (f NetworkFixture) addresses(t *testing.T) []netip.Prefix {
	t.Helper()
	i, ok := f.observe(t).Find(f.Uplink, netstate.TypeEthernet)
	require.True(t, ok, "interface %s is observed", f.Uplink)
	require.NotNil(t, i.IPv4)
	var all []netip.Prefix
	for _, a := range i.IPv4.Addresses {
		ip, err := netip.ParseAddr(a.IP)
		noError(t, err)
		all = append(all, netip.PrefixFrom(ip, a.PrefixLength))
	}
	return all
}

// require says what runs, and what boots.
func (f NetworkFixture) require(t *testing.T, runs, boots netip.Prefix) {
	t.Helper()
	require.Equal(t, []netip.Prefix{runs}, f.addresses(t))
	if f.Boots != nil {
		require.Equal(t, []netip.Prefix{boots}, f.Boots(t))
	}
}

func networkTrials(t *testing.T, f NetworkFixture) {
	list := func() []host.NetworkTrial {
		trials, err := f.Trials.Trials(t.Context())
		noError(t, err)
		return trials
	}
	pending, err := f.Transaction.Begin(t.Context(), f.moved(), time.Minute)
	noError(t, err)
	require.True(t, pending)
	require.Empty(t, list(), "one's own is none")
	noError(t, f.Transaction.Rollback(t.Context()))
	for _, keep := range []bool{true, false} {
		f.Hold(t, 10*time.Minute)
		trials := list()
		require.Len(t, trials, 1)
		require.WithinDuration(t, time.Now(), trials[0].Began, time.Minute)
		require.Equal(t, 10*time.Minute, trials[0].Ends.Sub(trials[0].Began))
		require.Error(t, f.Trials.EndTrial(t.Context(), trials[0].ID+"0", keep), "there is no such checkpoint")
		noError(t, f.Trials.EndTrial(t.Context(), trials[0].ID, keep))
		require.Empty(t, list())
	}
	noError(t, f.Network.Apply(t.Context(), f.moved(), nil))
	f.require(t, f.New, f.New)
}

func networkUnavailable(t *testing.T, f NetworkFixture) {
	f.Without(t, func() {
		require.ErrorIs(t, f.Network.Apply(t.Context(), f.moved(), nil), host.ErrNetworkUnavailable)
		_, err := f.Network.Observe(t.Context())
		require.ErrorIs(t, err, host.ErrNetworkUnavailable)
	})
	f.require(t, f.Old, f.Old)
	noError(t, f.Network.Apply(t.Context(), f.moved(), nil))
	f.require(t, f.New, f.New)
}

func (f NetworkFixture) gateway(t *testing.T) string {
	t.Helper()
	gw, ok := netstate.DefaultGateway(f.observe(t), netstate.IPv4, f.Uplink)
	require.True(t, ok, "there is a default route through %s", f.Uplink)
	return gw.String()
}

func networkObserved(t *testing.T, f NetworkFixture) {
	f.require(t, f.Old, f.Old)
	require.Equal(t, f.OldGateway.String(), f.gateway(t))
	i, _ := f.observe(t).Find(f.Uplink, netstate.TypeEthernet)
	require.Equal(t, netstate.StateUp, i.State)
	require.True(t, i.IPv4.On())
	require.False(t, i.IPv4.Auto())
}

func networkApplied(t *testing.T, f NetworkFixture) {
	noError(t, f.Network.Apply(t.Context(), f.moved(), nil))
	f.require(t, f.New, f.New)
	require.Empty(t, netstate.Verify(f.moved(), f.observe(t)))
}

func networkProofFirst(t *testing.T, f NetworkFixture) {
	proved := 0
	noError(t, f.Network.Apply(t.Context(), f.moved(), func(context.Context) error {
		proved++
		f.require(t, f.New, f.Old)
		return nil
	}))
	require.Equal(t, 1, proved)
	f.require(t, f.New, f.New)
}

func networkProofFails(t *testing.T, f NetworkFixture) {
	err := f.Network.Apply(t.Context(), f.moved(), func(context.Context) error { return errProof })
	require.ErrorIs(t, err, errProof)
	f.require(t, f.Old, f.Old)
	require.Equal(t, f.OldGateway.String(), f.gateway(t))
	noError(t, f.Network.Apply(t.Context(), f.moved(), nil)) // and can be tried again
	f.require(t, f.New, f.New)
}

func networkCancelled(t *testing.T, f NetworkFixture) {
	ctx, cancel := context.WithCancel(t.Context())
	err := f.Network.Apply(ctx, f.moved(), func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	require.ErrorIs(t, err, context.Canceled)
	f.require(t, f.Old, f.Old)
}

func networkTwice(t *testing.T, f NetworkFixture) {
	for range 2 {
		noError(t, f.Network.Apply(t.Context(), f.moved(), nil))
		f.require(t, f.New, f.New)
		require.Equal(t, f.NewGateway.String(), f.gateway(t))
	}
}

func networkUnmentioned(t *testing.T, f NetworkFixture) {
	noError(t, f.Network.Apply(t.Context(), netstate.Document{}, nil))
	f.require(t, f.Old, f.Old)
	require.Equal(t, f.OldGateway.String(), f.gateway(t))
	link := netstate.Document{Interfaces: []netstate.Interface{{Name: f.Uplink, Type: netstate.TypeEthernet, State: netstate.StateUp}}}
	noError(t, f.Network.Apply(t.Context(), link, nil))
	f.require(t, f.Old, f.Old)
	require.Equal(t, f.OldGateway.String(), f.gateway(t))
}

func networkRoute(t *testing.T, f NetworkFixture) {
	noError(t, f.Network.Apply(t.Context(), f.moved(), nil))
	require.Equal(t, f.NewGateway.String(), f.gateway(t))
	for _, r := range f.observe(t).Routes.Running {
		require.NotEqual(t, f.OldGateway.String(), r.NextHopAddress)
	}
}

func networkDNS(t *testing.T, f NetworkFixture) {
	want := []string{"198.51.100.53", "192.0.2.53", "203.0.113.53"}
	d := f.moved()
	d.DNS = &netstate.DNS{Config: &netstate.Resolver{Server: want}}
	noError(t, f.Network.Apply(t.Context(), d, nil))
	require.NotNil(t, f.observe(t).DNS)
	require.Equal(t, want, f.observe(t).DNS.Running.Server)
}

func networkRecover(t *testing.T, f NetworkFixture) {
	noError(t, f.Network.Recover(t.Context()))
	f.require(t, f.Old, f.Old)
	noError(t, f.Network.Apply(t.Context(), f.moved(), nil), f.Network.Recover(t.Context()))
	f.require(t, f.New, f.New)
}
