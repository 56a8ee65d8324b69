package nmtest

import (
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// removeLinks deletes every link but loopback and the fixed tunnel devices.
func (n *Node) removeLinks() {
	n.t.Helper()
	links, err := netlink.LinkList()
	n.must(err)
	for _, l := range links {
		if l.Attrs().Name != "lo" {
			_ = netlink.LinkDel(l) // the far end of one already deleted, or one the kernel keeps
		}
	}
}

// InPeer runs fn with the calling thread in the peer namespace; sockets opened by fn stay there.
func (n *Node) InPeer(fn func()) {
	n.t.Helper()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		ns, err := netns.GetFromName(peer)
		if err == nil {
			err = netns.Set(ns)
			_ = ns.Close() // only read from
		}
		if err == nil {
			fn()
		}
		done <- err
	}()
	n.must(<-done)
}
