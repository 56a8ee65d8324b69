package nm_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
)

// takeCheckpoint is what another program does; 0 seconds are for ever.
func (n *testNode) takeCheckpoint(seconds uint32) (end func()) {
	n.t.Helper()
	conn, err := nm.SystemBus(nmtest.BusAddress)()
	require.NoError(n.t, err)
	n.t.Cleanup(func() { conn.Close() })
	const name = "org.freedesktop.NetworkManager"
	manager := conn.Object(name, "/org/freedesktop/NetworkManager")
	var path dbus.ObjectPath
	require.NoError(n.t, manager.Call(name+".CheckpointCreate", 0, []dbus.ObjectPath{}, seconds, uint32(0)).Store(&path))
	return func() { require.NoError(n.t, manager.Call(name+".CheckpointDestroy", 0, path).Err) }
}

// A handler of kubernetes-nmstate that is removed in the middle of a change leaves a checkpoint behind.
func TestACheckpointOfAnotherProgramIsWaitedFor(t *testing.T) {
	n := newNode(t)
	end := n.takeCheckpoint(600)
	waits := &heard{text: "has the network on trial", said: make(chan struct{})}
	net := nm.New(nm.Options{
		Bus: nm.SystemBus(nmtest.BusAddress), Files: n.disk, StateDir: n.state, Lease: n.lease, Settle: nmtest.Patience(10 * time.Second),
		Log: slog.New(slog.NewTextHandler(waits, nil)),
	})
	done := make(chan error, 1)
	go func() { done <- net.Apply(timeout(t), document(t, moved), nil) }()
	select {
	case <-waits.said:
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	}
	n.isOld()
	end()
	require.NoError(t, <-done)
	n.isNew()
}

func TestACheckpointWithoutAnEndIsNamed(t *testing.T) {
	n := newNode(t)
	end := n.takeCheckpoint(0)
	err := n.network().Apply(timeout(t), document(t, moved), nil)
	require.ErrorIs(t, err, host.ErrNetworkUnavailable)
	require.ErrorContains(t, err, "without an end")
	require.ErrorContains(t, err, "'lca-cli network rollback /org/freedesktop/NetworkManager/Checkpoint/")
	n.isOld()
	end()
	n.canMove()
}

// A person settles what a program left behind: the network that runs stays, or the former one comes back. NetworkManager's log says who
// made it.
func TestACheckpointOfAnotherProgramIsSettled(t *testing.T) {
	for keep, want := range map[bool]string{true: "198.51.100.7/24", false: ""} {
		n := newNode(t)
		n.cards("nic1")
		n.takeCheckpoint(0)
		n.handMade("nic1", "198.51.100.7/24")
		net := nm.New(nm.Options{Bus: nm.SystemBus(nmtest.BusAddress), Files: n.disk, StateDir: n.state, Lease: n.lease,
			ManagerLog: func(context.Context) ([]byte, error) { return []byte(n.Log()), nil }})
		trials, err := net.Trials(timeout(t))
		require.NoError(t, err)
		require.Len(t, trials, 1)
		require.Contains(t, trials[0].Program, fmt.Sprintf("(process %d)", os.Getpid()))
		require.Zero(t, trials[0].Ends)
		require.NoError(t, net.EndTrial(timeout(t), trials[0].ID, keep))
		n.Until("it is as it is to be", func() bool {
			return strings.Contains(n.IP("-o", "-4", "addr", "show", "dev", "nic1"), "198.51.100.7/24") == (want != "")
		})
		n.canMove()
	}
}

// handMade has NetworkManager bring a card up as another program does, without this product.
func (n *testNode) handMade(card, address string) {
	n.t.Helper()
	conn, err := nm.SystemBus(nmtest.BusAddress)()
	require.NoError(n.t, err)
	defer conn.Close()
	const name = "org.freedesktop.NetworkManager"
	ip, bits, _ := strings.Cut(address, "/")
	prefix, err := strconv.Atoi(bits)
	require.NoError(n.t, err)
	text := func(s string) dbus.Variant { return dbus.MakeVariant(s) }
	settings := map[string]map[string]dbus.Variant{
		"connection": {"id": text(card), "type": text("802-3-ethernet"), "interface-name": text(card),
			"autoconnect": dbus.MakeVariant(false)}, // a rollback keeps the profile, which would come up by itself again
		"ipv4": {"method": text("manual"), "address-data": dbus.MakeVariant([]map[string]dbus.Variant{
			{"address": text(ip), "prefix": dbus.MakeVariant(uint32(prefix))}})},
	}
	manager := conn.Object(name, "/org/freedesktop/NetworkManager")
	var device dbus.ObjectPath
	n.Until("NetworkManager knows the card", func() bool { return manager.Call(name+".GetDeviceByIpIface", 0, card).Store(&device) == nil })
	require.NoError(n.t, manager.Call(name+".AddAndActivateConnection", 0, settings, device, dbus.ObjectPath("/")).Err)
	n.Until("the card is up", func() bool { return strings.Contains(n.IP("-o", "-4", "addr", "show", "dev", card), address) })
}

// The card of an interrupted change is gone: its profile is put in order, and no change waits for it, neither this one nor any to come.
func TestAChangeOfACardThatIsGoneIsSettled(t *testing.T) {
	n := newNode(t)
	n.cards("card0", "card1")
	rests := func(host int) string {
		return fmt.Sprintf("interfaces:\n- {name: card0, type: ethernet, state: up, "+
			"ipv4: {enabled: true, dhcp: false, address: [{ip: 203.0.113.%d, prefix-length: 24}]}}", host) +
			fmt.Sprintf("\n- {name: mv0, type: mac-vlan, state: up, mac-vlan: {base-iface: card0, mode: bridge}, mtu: %d, "+
				"ipv4: {enabled: true, dhcp: false, address: [{ip: 198.51.100.%d, prefix-length: 24}]}}", 1400+host, host)
	}
	old, next := rests(5), rests(66)
	n.apply(old + "\nroutes: {config: [{destination: 198.18.0.0/24, next-hop-interface: card0, next-hop-address: 203.0.113.1}]}")
	n.victim(next, "proof").kill()
	n.KillNM()
	n.IP("link", "del", "card0")
	n.StartNM()
	began := time.Now()
	require.NoError(t, n.network().Recover(timeout(t)))
	require.Less(t, time.Since(began), nmtest.Patience(5*time.Second), "it does not wait for a card that is not there")
	n.settled()
	n.canMove()
	n.cards("card0")
	n.Until("the former profile comes into force with the card", func() bool {
		all := n.IP("addr")
		return strings.Contains(all, "203.0.113.5/24") && strings.Contains(all, "198.51.100.5/24") && !strings.Contains(all, ".66/24")
	})
}
