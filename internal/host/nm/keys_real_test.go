package nm_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/ovs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// names stand in for the machine's own, which a test must not change.
type names struct {
	mu              sync.Mutex
	running, stored string
}

func (n *names) Hostname(context.Context) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.running, nil
}

func (n *names) Stored(context.Context) (string, bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stored, n.stored != "", nil
}

func (n *names) SetRunning(_ context.Context, name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running = name
	return nil
}

// SetStored changes the running name, too, as systemd-hostnamed does.
func (n *names) SetStored(_ context.Context, name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stored = name; name != "" {
		n.running = name
	}
	return nil
}

// wideNode is a node with names and an Open vSwitch.
func wideNode(t *testing.T) (*testNode, *names, func() *nm.Network) {
	t.Helper()
	n := newNode(t)
	n.StartOVS()
	who := &names{running: "node-1"}
	return n, who, func() *nm.Network {
		return nm.New(nm.Options{
			Bus: nm.SystemBus(nmtest.BusAddress), Files: n.disk, StateDir: n.state, Lease: n.lease, Settle: nmtest.Patience(10 * time.Second),
			Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Switch: ovs.New(nmtest.OVSSocket), Names: who,
		})
	}
}

const wide = `
hostname: {running: node-7, config: node-7.example.com}
ovs-db: {external_ids: {rack: seven}, other_config: {stats-update-interval: '10000'}}
ovn: {bridge-mappings: [{localnet: physnet, bridge: br-phys}]}
`

// What no profile holds is part of the transaction: a failed proof and a rollback restore it, and a commit keeps it.
func TestWhatNoProfileHoldsIsPartOfTheTransaction(t *testing.T) {
	n, who, network := wideNode(t)
	observed := func() netstate.Document {
		d, err := network().Observe(timeout(t))
		require.NoError(t, err)
		return d.NodeWide()
	}
	before, doc := observed(), document(t, wide)
	require.Equal(t, "node-1", *before.Hostname.Running)

	failed := network().Apply(timeout(t), doc, func(context.Context) error {
		require.Equal(t, &names{running: "node-7"}, who, "the name is stored with the commit")
		require.Equal(t, "seven", *observed().OVSDB.ExternalIDs["rack"])
		return errors.New("no")
	})
	require.ErrorContains(t, failed, "the old network is back")
	require.Equal(t, before, observed())

	pending, err := network().Begin(timeout(t), doc, time.Hour)
	require.NoError(t, err)
	require.True(t, pending)
	require.Equal(t, "node-7", *observed().Hostname.Running)
	require.NoError(t, network().Rollback(timeout(t)))
	require.Equal(t, before, observed())

	require.NoError(t, network().Apply(timeout(t), doc, nil))
	require.Empty(t, netstate.Verify(doc, observed()))
	require.Equal(t, &names{running: "node-7", stored: "node-7.example.com"}, who)
	changes, err := network().Plan(timeout(t), doc)
	require.NoError(t, err)
	require.Empty(t, changes, "it is in place")
	require.NoError(t, network().Apply(timeout(t), netstate.Revert(doc, before), nil))
	require.Equal(t, before, observed())
	n.settled()
}

// A change that died with NetworkManager is undone by the next program that starts.
func TestWhatNoProfileHoldsIsRecovered(t *testing.T) {
	n, _, network := wideNode(t)
	doc := document(t, wide)
	_, err := network().Begin(timeout(t), doc, time.Hour)
	require.NoError(t, err)
	n.KillNM()
	n.StartNM()
	n.Until("NetworkManager answers", func() bool { _, err := network().Observe(timeout(t)); return err == nil })
	require.NoError(t, network().Recover(timeout(t)))
	d, err := network().Observe(timeout(t))
	require.NoError(t, err)
	require.Equal(t, "node-1", *d.Hostname.Running)
	require.Empty(t, d.OVSDB.ExternalIDs)
	require.Nil(t, d.OVN)
	n.settled()
}

// A program without the ports refuses the keys, with their paths.
func TestWhatNoProfileHoldsNeedsAPort(t *testing.T) {
	n := newNode(t)
	for text, path := range map[string]string{
		"hostname: {config: node-7}":                                     "hostname",
		"ovs-db: {external_ids: {rack: seven}}":                          "ovs-db",
		"ovn: {bridge-mappings: [{localnet: physnet, bridge: br-phys}]}": "ovn.bridge-mappings",
	} {
		require.ErrorContains(t, n.network().Apply(timeout(t), document(t, text), nil), path+": this program")
	}
}

const properties = `
dns-resolver: {config: {options: [rotate, 'timeout:3']}}
routes:
  config:
  - {destination: 198.51.100.0/24, next-hop-interface: uplink0, next-hop-address: 192.0.2.254, metric: 50, source: 192.0.2.10, cwnd: 20}
  - {destination: 203.0.113.0/24, next-hop-interface: uplink0, next-hop-address: 192.0.2.1, metric: 50, weight: 1}
  - {destination: 203.0.113.0/24, next-hop-interface: uplink0, next-hop-address: 192.0.2.254, metric: 50, weight: 3}
  - {destination: 198.18.0.0/15, route-type: blackhole}
  - {destination: '2001:db8:dead::/48', route-type: unreachable}
`

func TestPropertiesOfRoutesAndOptionsOfTheResolver(t *testing.T) {
	n := newNode(t)
	before, err := n.network().Observe(timeout(t))
	require.NoError(t, err)
	doc := document(t, properties)
	require.NoError(t, n.network().Apply(timeout(t), doc, nil))
	routes := n.IP("route")
	require.Contains(t, routes, "198.51.100.0/24 via 192.0.2.254 dev uplink0 proto static src 192.0.2.10 metric 50 cwnd lock 20")
	require.Contains(t, routes, "nexthop via 192.0.2.254 dev uplink0 weight 3")
	require.Contains(t, routes, "blackhole 198.18.0.0/15")
	require.Contains(t, n.IP("-6", "route"), "unreachable 2001:db8:dead::/48")
	require.Contains(t, n.text("/run/NetworkManager/resolv.conf"), "options rotate timeout:3")

	changes, err := n.network().Plan(timeout(t), doc)
	require.NoError(t, err)
	require.Empty(t, changes, "it is in place")
	got, err := n.network().Observe(timeout(t))
	require.NoError(t, err)
	require.Empty(t, netstate.Diff(got, doc))

	require.NoError(t, n.network().Apply(timeout(t), netstate.Revert(doc, before), nil))
	for _, gone := range []string{"198.51.100.0", "203.0.113.0", "blackhole"} {
		require.NotContains(t, n.IP("route"), gone)
	}
	n.Until("the options are gone", func() bool { return !strings.Contains(n.text("/run/NetworkManager/resolv.conf"), "rotate") })
}

// What another program writes into the Open vSwitch database is observed when it is written.
func TestAChangeOfTheSwitchIsReported(t *testing.T) {
	_, _, network := wideNode(t)
	changes, err := network().Changes(timeout(t))
	require.NoError(t, err)
	other := ovs.New(nmtest.OVSSocket)
	seen := func(rack string) bool {
		d, err := network().Observe(timeout(t))
		require.NoError(t, err)
		return d.OVSDB.ExternalIDs["rack"] != nil && *d.OVSDB.ExternalIDs["rack"] == rack
	}
	<-changes // the first one comes at once
	for _, rack := range []string{"one", "two"} {
		require.NoError(t, other.Configure(timeout(t), &netstate.OVSDB{ExternalIDs: map[string]*string{"rack": new(rack)}}, nil))
		for !seen(rack) {
			<-changes
		}
	}
	// The database is watched by now: this change alone wakes the observer.
	for len(changes) > 0 {
		<-changes
	}
	require.NoError(t, other.Configure(timeout(t), &netstate.OVSDB{ExternalIDs: map[string]*string{"rack": new("three")}}, nil))
	<-changes
	require.True(t, seen("three"))
}
