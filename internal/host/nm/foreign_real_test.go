package nm_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// elsewhere is a document that moves the uplink and then is refused.
var (
	elsewhere  = strings.ReplaceAll(moved, "192.0.2.77", "192.0.2.78")
	errRefused = errors.New("refused by the test")
)

func refuse(context.Context) error { return errRefused }

// foreign gives the uplink what OVN-Kubernetes and others give it, with all that a route can have.
func (n *testNode) foreign() {
	n.t.Helper()
	n.IP("addr", "add", "169.254.169.2/29", "dev", "uplink0", "noprefixroute", "scope", "link", "label", "uplink0:ovn")
	n.IP("addr", "add", "fd69::2/125", "dev", "uplink0", "nodad", "noprefixroute")
	for _, route := range []string{
		"169.254.169.0/29 dev uplink0 scope link src 169.254.169.2 proto 200",
		"fd69::/125 dev uplink0 src fd69::2 metric 30 proto 200",
		"172.30.0.0/16 via 169.254.169.4 dev uplink0 src 169.254.169.2 mtu lock 1380 advmss 1300 metric 7 proto boot",
		"172.31.0.0/16 via 203.0.113.7 dev uplink0 onlink proto 18 table 77 metric 5",
		"10.128.0.0/14 proto static src 169.254.169.2 mtu 1400 nexthop via 169.254.169.4 dev uplink0 weight 3 nexthop via 169.254.169.5 dev uplink0 weight 1",
		"fd02::/112 via fd69::4 dev uplink0 src fd69::2 mtu 1380 metric 40 proto static",
		"fd03::/112 proto 200 metric 41 nexthop via fd69::4 dev uplink0 nexthop via fd69::5 dev uplink0",
	} {
		n.IP(append([]string{family(route), "route", "add"}, strings.Fields(route)...)...)
	}
	n.Until("the kernel receives on the address, which it sees to a moment later", func() bool {
		return strings.Contains(n.IP("-6", "route", "show", "table", "local"), "local fd69::2 ")
	})
}

func family(route string) string {
	if strings.Contains(strings.Fields(route)[0], ":") {
		return "-6"
	}
	return "-4"
}

// foreignNow is all that iproute2 says of it, sorted.
func (n *testNode) foreignNow() []string {
	n.t.Helper()
	var out []string
	for _, f := range []string{"-4", "-6"} {
		for line := range strings.Lines(n.IP(f, "-d", "-o", "route", "show", "table", "all")) {
			if strings.Contains(line, "169.254.169.") || strings.Contains(line, "fd69::") || strings.Contains(line, "203.0.113.") {
				out = append(out, strings.TrimSpace(line))
			}
		}
	}
	for line := range strings.Lines(n.IP("-o", "addr", "show", "dev", "uplink0")) {
		if strings.Contains(line, "169.254.169.") || strings.Contains(line, "fd69::") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	slices.Sort(out)
	return out
}

// What other programs set comes back with source, metrics and locks, protocol, scope, table, flags and all next hops.
func TestForeignRoutesComeBackAsTheyWere(t *testing.T) {
	n := newNode(t)
	n.foreign()
	former := n.foreignNow()
	for _, detail := range []string{"mtu lock 1380", "onlink", "src fd69::2", "proto keepalived", "weight 3", "table 77", "uplink0:ovn"} {
		require.Contains(t, strings.Join(former, "\n"), detail)
	}
	n.canMove()
	require.Equal(t, former, n.foreignNow())
	err := n.network().Apply(timeout(t), document(t, elsewhere), refuse)
	require.ErrorIs(t, err, errRefused)
	require.ErrorContains(t, err, "the old network is back")
	n.Until("all of it is as before:\n"+strings.Join(former, "\n"), func() bool { return slices.Equal(former, n.foreignNow()) })
}

// A journal of an earlier version knows less of them.
func TestAJournalOfAnEarlierVersionPutsBackWhatItKnows(t *testing.T) {
	n := newNode(t)
	f := kernel.Foreign{Iface: "uplink0", Addresses: []string{"169.254.169.2/29"}, Routes: []netstate.Route{{
		Destination: "172.30.0.0/16", NextHopInterface: "uplink0", NextHopAddress: "169.254.169.4", Source: "169.254.169.2", Metric: 7, TableID: 254,
	}}}
	require.Empty(t, f.PutBack())
	require.True(t, n.has("169.254.169.2/29"))
	require.Contains(t, n.IP("route"), "172.30.0.0/16 via 169.254.169.4 dev uplink0 proto static src 169.254.169.2 metric 7")
	require.Empty(t, f.PutBack(), "what is there counts")
}

// A route that its owner has meanwhile replaced by another one is not put beside it.
func TestTheOwnersNewerRouteCounts(t *testing.T) {
	n := newNode(t)
	n.IP("route", "add", "172.30.0.0/16", "via", "192.0.2.1", "dev", "uplink0", "proto", "200", "metric", "7")
	state, err := kernel.Read()
	require.NoError(t, err)
	all, err := kernel.ReadMessages()
	require.NoError(t, err)
	f := kernel.ForeignOn(state, all, "uplink0", nil)
	require.Len(t, f.WholeRoutes, 3, "the two default routes and this one")
	n.IP("route", "del", "172.30.0.0/16")
	n.IP("route", "add", "172.30.0.0/16", "via", "192.0.2.254", "dev", "uplink0", "proto", "200", "metric", "9")
	require.Empty(t, f.PutBack())
	require.NotContains(t, n.IP("route"), "metric 7")
	n.IP("route", "del", "172.30.0.0/16")
	require.Empty(t, f.PutBack())
	require.Contains(t, n.IP("route"), "172.30.0.0/16 via 192.0.2.1 dev uplink0 proto 200 metric 7")
}

// owner plays OVN-Kubernetes until the test ends: it takes its address and route away and puts them back, all the time. Its
// errors are part of its life.
func (n *testNode) owner(stop <-chan struct{}) {
	step := func(args ...string) {
		_ = exec.Command("ip", args...).Run() // it is there already, or not there, or its address is not there yet
	}
	for {
		select {
		case <-stop:
			return
		default:
		}
		step("route", "del", "172.30.0.0/16")
		step("addr", "del", "169.254.169.2/29", "dev", "uplink0")
		step("addr", "add", "169.254.169.2/29", "dev", "uplink0")
		step("route", "add", "172.30.0.0/16", "via", "169.254.169.4", "dev", "uplink0", "src", "169.254.169.2", "mtu", "1380")
	}
}

// The owner of addresses and routes repairs them while a change runs and while it is undone: neither fails for that.
func TestTheOwnerRepairsItsRoutesAtTheSameTime(t *testing.T) {
	n := newNode(t)
	n.IP("addr", "add", "169.254.169.2/29", "dev", "uplink0")
	n.IP("route", "add", "172.30.0.0/16", "via", "169.254.169.4", "dev", "uplink0", "src", "169.254.169.2", "mtu", "1380")
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { n.owner(stop) })
	defer running.Wait()
	defer sync.OnceFunc(func() { close(stop) })()
	for range 3 {
		require.NoError(t, n.network().Apply(timeout(t), document(t, moved), nil))
		err := n.network().Apply(timeout(t), document(t, elsewhere), refuse)
		require.ErrorIs(t, err, errRefused)
		require.ErrorContains(t, err, "the old network is back")
		n.isNew()
		require.NoError(t, n.network().Apply(timeout(t), document(t, elsewhere), nil))
	}
}

// impatient is the node's network with a short wait for other programs, and what it logs.
func (n *testNode) impatient() (*nm.Network, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return nm.New(nm.Options{
		Bus: nm.SystemBus(nmtest.BusAddress), Files: n.disk, StateDir: n.state, Lease: n.lease, Settle: nmtest.Patience(10 * time.Second),
		Foreign: time.Second, Log: slog.New(slog.NewTextHandler(log, nil)),
	}), log
}

// A route of another program that can never come back, because its source moves away, is left to its owner and reported.
func TestARouteThatCannotComeBackFailsNoChange(t *testing.T) {
	n := newNode(t)
	n.IP("route", "add", "172.31.0.0/16", "via", "192.0.2.1", "dev", "uplink0", "src", "192.0.2.10")
	network, log := n.impatient()
	require.NoError(t, network.Apply(timeout(t), document(t, moved), nil))
	n.isNew()
	require.Contains(t, log.String(), "level=WARN")
	require.Contains(t, log.String(), "172.31.0.0/16")
}

// An undo that cannot put a route of another program back has the old network back all the same, with the links it had.
func TestAnUndoLeavesARouteThatCannotComeBackToItsOwner(t *testing.T) {
	n := newNode(t)
	n.Link("extra0")
	n.IP("link", "set", "extra0", "up")
	n.IP("addr", "add", "198.51.100.1/24", "dev", "extra0")
	n.IP("route", "add", "172.31.0.0/16", "nexthop", "via", "192.0.2.1", "dev", "uplink0", "nexthop", "via", "198.51.100.2", "dev", "extra0")
	network, log := n.impatient()
	err := network.Apply(timeout(t), document(t, moved), func(context.Context) error {
		n.IP("link", "del", "extra0")
		return errRefused
	})
	require.ErrorIs(t, err, errRefused)
	require.ErrorContains(t, err, "the old network is back")
	n.isOld()
	require.Contains(t, log.String(), "interface extra0")
}

// Where a profile was changed in place, so is the way back: no link is taken down or made anew, and what is on it stays.
func TestAnUndoOfAChangeInPlaceIsInPlace(t *testing.T) {
	n := newNode(t)
	n.cards("nic1")
	bridge := func(mtu string) string {
		return "interfaces: [{name: br-ex, type: linux-bridge, state: up, mtu: " + mtu + ", bridge: {port: [{name: nic1}]}, " +
			"ipv4: {enabled: true, dhcp: false, address: [{ip: 198.51.100.9, prefix-length: 24}]}}]"
	}
	n.apply(bridge("1500"))
	index := n.IP("-o", "link", "show", "br-ex")
	for _, doc := range []string{bridge("1400"), moved} {
		before := len(n.Log())
		err := n.network().Apply(timeout(t), document(t, doc), refuse)
		require.ErrorIs(t, err, errRefused)
		require.ErrorContains(t, err, "the old network is back")
		require.NotContains(t, n.Log()[before:], "op=\"checkpoint-rollback\"")
		require.NotContains(t, n.Log()[before:], "state change: activated ->")
		n.isOld()
	}
	require.Equal(t, index, n.IP("-o", "link", "show", "br-ex"))
}
