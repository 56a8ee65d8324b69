package dhcp

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// cable is a cable in a network namespace of this test's own; both ends are in it.
func cable(t *testing.T) (node, laptop string) {
	t.Helper()
	runtime.LockOSThread() // never unlocked: the thread ends with the test, and its namespace with it
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("reason: a network namespace cannot be made here: %v", err)
	}
	pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "node0"}, PeerName: "laptop0"}
	if err := netlink.LinkAdd(pair); err != nil {
		t.Skipf("reason: a pair of links cannot be made here: %v", err)
	}
	for _, name := range []string{"node0", "laptop0"} {
		link, err := netlink.LinkByName(name)
		require.NoError(t, err)
		require.NoError(t, netlink.LinkSetUp(link))
	}
	for _, key := range []string{"all/accept_local", "all/rp_filter", "laptop0/rp_filter", "node0/rp_filter"} {
		value := "0"
		if key == "all/accept_local" {
			value = "1" // both ends are the same machine
		}
		if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+key, []byte(value), 0o600); err != nil {
			t.Skipf("reason: settings of the network cannot be changed here: %v", err)
		}
	}
	return "node0", "laptop0"
}

// wait is generous: the machine may be busy.
const wait = 2 * time.Minute

// The node's own server is found from the other end of the cable, and no more once it has ended.
func TestAServerIsFound(t *testing.T) {
	program, err := exec.LookPath("dnsmasq")
	if err != nil {
		t.Skip("reason: dnsmasq is not installed")
	}
	t.Attr("uses", "dnsmasq")
	node, laptop := cable(t)
	l := &Link{Dir: t.TempDir(), Program: program}
	on, err := l.Carrier(t.Context(), node)
	require.NoError(t, err)
	require.Equal(t, node, on)
	none, err := l.OtherServer(t.Context(), laptop)
	require.NoError(t, err)
	require.False(t, none.IsValid())

	address := netip.MustParsePrefix("192.0.2.1/29")
	for _, first := range []bool{true, false} {
		added, err := l.Assign(t.Context(), node, address)
		require.NoError(t, err)
		require.Equal(t, first, added)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	config := "port=0\ninterface=node0\nbind-dynamic\nexcept-interface=lo\ndhcp-range=192.0.2.2,192.0.2.2,255.255.255.248,10m\n" +
		"dhcp-leasefile=" + filepath.Join(l.Dir, "leases") + "\n"
	here, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	require.NoError(t, err)
	defer here.Close()
	go func() {
		runtime.LockOSThread()
		if err := unix.Setns(int(here.Fd()), unix.CLONE_NEWNET); err != nil {
			ended <- err
			return
		}
		ended <- l.Serve(ctx, config)
	}()
	found := netip.Addr{}
	for until := time.Now().Add(wait); !found.IsValid() && time.Now().Before(until); {
		found, err = l.OtherServer(t.Context(), laptop)
		require.NoError(t, err)
	}
	require.Equal(t, address.Addr(), found)
	// On the port that has the address it is this node's own server, which must not hide another one.
	added, err := l.Assign(t.Context(), laptop, address)
	require.NoError(t, err)
	require.True(t, added)
	own, err := l.OtherServer(t.Context(), laptop)
	require.NoError(t, err)
	require.False(t, own.IsValid(), own)
	cancel()
	require.NoError(t, <-ended)
	for range 2 {
		require.NoError(t, l.Withdraw(t.Context(), node, address))
	}
}

// A link that was given the address while it was another's, such as a bridge that took a port over, keeps nothing of it.
func TestTheAddressIsTakenFromEveryLink(t *testing.T) {
	node, laptop := cable(t)
	l := &Link{}
	withdrawn, kept := netip.MustParsePrefix("192.0.2.1/29"), netip.MustParsePrefix("192.0.2.9/29")
	for link, addresses := range map[string][]netip.Prefix{node: {withdrawn, kept}, laptop: {withdrawn}} {
		for _, address := range addresses {
			_, err := l.Assign(t.Context(), link, address)
			require.NoError(t, err)
		}
	}
	require.NoError(t, l.WithdrawFromAll(t.Context(), withdrawn))
	for _, link := range []string{node, laptop} {
		has, err := l.Has(t.Context(), link, withdrawn)
		require.NoError(t, err)
		require.False(t, has, link)
	}
	has, err := l.Has(t.Context(), node, kept)
	require.NoError(t, err)
	require.True(t, has, "another address stays")
	require.NoError(t, l.WithdrawFromAll(t.Context(), withdrawn), "none has it any more")
}
