package probe

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

// probeEcho asks for an echo until it comes back, over the link, or whatever route leads there where it is nil.
func probeEcho(ctx context.Context, to netip.Addr, link *net.Interface) error {
	network, local, kind, reply := "ip4:icmp", "0.0.0.0", icmp.Type(ipv4.ICMPTypeEcho), icmp.Type(ipv4.ICMPTypeEchoReply)
	if to.Is6() {
		network, local, kind, reply = "ip6:ipv6-icmp", "::", ipv6.ICMPTypeEchoRequest, ipv6.ICMPTypeEchoReply
	}
	lc := net.ListenConfig{}
	if link != nil {
		lc.Control = func(_, _ string, c syscall.RawConn) error { return bindToLink(c, link.Name) }
	}
	conn, err := lc.ListenPacket(ctx, network, local)
	if err != nil {
		return fmt.Errorf("echo: %w", err)
	}
	defer conn.Close()
	id := os.Getpid() & 0xffff
	question, err := (&icmp.Message{Type: kind, Body: &icmp.Echo{ID: id, Seq: 1, Data: []byte("lifecycle-agent")}}).Marshal(nil)
	if err != nil {
		return fmt.Errorf("echo: %w", err)
	}
	dest := &net.IPAddr{IP: to.AsSlice()}
	if to.Is6() && to.IsLinkLocalUnicast() && link != nil {
		dest.Zone = strconv.Itoa(link.Index) // by number: see withIndex
	}
	heard := make(chan error, 1)
	go func() { heard <- awaitEcho(conn, to, id, kind.Protocol(), reply) }()
	send := func() error { _, err := conn.WriteTo(question, dest); return err }
	if err := askRepeatedly(ctx, 0, send, heard, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) }); err != nil {
		return fmt.Errorf("echo: %w", err)
	}
	return nil
}

// bindToLink keeps the question on the link: the answer must prove that one.
func bindToLink(c syscall.RawConn, link string) error {
	var inner error
	if err := c.Control(func(fd uintptr) { inner = unix.BindToDevice(int(fd), link) }); err != nil {
		return fmt.Errorf("reach the socket: %w", err)
	}
	return inner
}

// awaitEcho reads until our echo comes back from the right address.
func awaitEcho(conn net.PacketConn, from netip.Addr, id, protocol int, reply icmp.Type) error {
	buf := make([]byte, 1500)
	for {
		n, sender, err := conn.ReadFrom(buf)
		if err != nil {
			return fmt.Errorf("await the echo: %w", err)
		}
		m, err := icmp.ParseMessage(protocol, buf[:n])
		if err != nil || m.Type != reply {
			continue
		}
		ip, ok := sender.(*net.IPAddr)
		if !ok {
			continue
		}
		addr, _ := netip.AddrFromSlice(ip.IP)
		if e, ok := m.Body.(*icmp.Echo); ok && e.ID == id && addr.Unmap() == from {
			return nil
		}
	}
}
