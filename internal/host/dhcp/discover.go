package dhcp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// How long a server may take to answer, and how often it is asked.
const (
	answerTime = 2 * time.Second
	asks       = 2
)

// Parts of a message (RFC 2131, RFC 2132).
const (
	bootRequest, bootReply   = 1, 2
	ethernet, hardwareLength = 1, 6
	broadcastFlag            = 0x8000
	headerSize               = 236
	cookie                   = 0x63825363
	optionType, optionServer = 53, 54
	optionEnd, optionPad     = 255, 0
	discover, offer          = 1, 2
	portServer, portClient   = 67, 68
	maxMessage               = 1500
)

// OtherServer implements laptop.Link: it asks for an address, as any machine does that is plugged in, and takes none. Offers
// from the port's own addresses are this node's, and hide no other one.
func (l *Link) OtherServer(ctx context.Context, port string) (netip.Addr, error) {
	link, err := net.InterfaceByName(port)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find port %s: %w", port, err)
	}
	conn, err := listenOnPort(ctx, port)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("look for a DHCP server on %s: %w", port, err)
	}
	defer conn.Close()
	own, err := link.Addrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("read the addresses of port %s: %w", port, err)
	}
	id := rand.Uint32() // distinguishes a late answer; not a secret
	message := discoverMessage(id, link.HardwareAddr)
	for range asks {
		if _, err := conn.WriteTo(message, &net.UDPAddr{IP: net.IPv4bcast, Port: portServer}); err != nil {
			return netip.Addr{}, fmt.Errorf("look for a DHCP server on %s: %w", port, err)
		}
		server, err := awaitOffer(ctx, conn, id, own)
		if err != nil || server.IsValid() {
			return server, err
		}
	}
	return netip.Addr{}, nil
}

// listenOnPort opens a socket that sends and receives on the port only, also without an address.
func listenOnPort(ctx context.Context, port string) (net.PacketConn, error) {
	control := func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = errors.Join(
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1),
				unix.SetsockoptString(int(fd), unix.SOL_SOCKET, unix.SO_BINDTODEVICE, port))
		})
		return errors.Join(err, failed)
	}
	return (&net.ListenConfig{Control: control}).ListenPacket(ctx, "udp4", fmt.Sprintf("0.0.0.0:%d", portClient))
}

// awaitOffer is the zero value where none came in time from another machine than this one.
func awaitOffer(ctx context.Context, conn net.PacketConn, id uint32, own []net.Addr) (netip.Addr, error) {
	deadline := time.Now().Add(answerTime)
	if until, ok := ctx.Deadline(); ok && until.Before(deadline) {
		deadline = until
	}
	if err := conn.SetReadDeadline(deadline); err != nil {
		return netip.Addr{}, fmt.Errorf("wait for a DHCP server: %w", err)
	}
	buf := make([]byte, maxMessage)
	for {
		n, from, err := conn.ReadFrom(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return netip.Addr{}, ctx.Err() // nil but for a context that has ended
		}
		if err != nil {
			return netip.Addr{}, fmt.Errorf("wait for a DHCP server: %w", err)
		}
		if server, ok := parseOffer(buf[:n], id); ok {
			if udp, isUDP := from.(*net.UDPAddr); isUDP && !server.IsValid() {
				server = udp.AddrPort().Addr().Unmap()
			}
			if !isOwn(server, own) {
				return server, nil
			}
		}
	}
}

func isOwn(server netip.Addr, own []net.Addr) bool {
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr() == server
	})
}

// discoverMessage asks for an address, and for an answer to all: the port may have none to answer to.
func discoverMessage(id uint32, hardware net.HardwareAddr) []byte {
	m := make([]byte, headerSize, headerSize+16)
	m[0], m[1], m[2] = bootRequest, ethernet, hardwareLength
	binary.BigEndian.PutUint32(m[4:], id)
	binary.BigEndian.PutUint16(m[10:], broadcastFlag)
	copy(m[28:34], hardware)
	m = binary.BigEndian.AppendUint32(m, cookie)
	return append(m, optionType, 1, discover, optionEnd)
}

// parseOffer reads an offer to the message of that id; the server is its identifier. A hostile message is no offer.
func parseOffer(m []byte, id uint32) (server netip.Addr, ok bool) {
	if len(m) < headerSize+4 || m[0] != bootReply || binary.BigEndian.Uint32(m[4:]) != id ||
		binary.BigEndian.Uint32(m[headerSize:]) != cookie {
		return server, false
	}
	for options := m[headerSize+4:]; len(options) > 0 && options[0] != optionEnd; {
		if options[0] == optionPad {
			options = options[1:]
			continue
		}
		if len(options) < 2 || len(options) < 2+int(options[1]) {
			return server, false
		}
		kind, value := options[0], options[2:2+int(options[1])]
		options = options[2+int(options[1]):]
		switch {
		case kind == optionType && len(value) == 1:
			ok = value[0] == offer
		case kind == optionServer && len(value) == 4:
			server = netip.AddrFrom4([4]byte(value))
		}
	}
	return server, ok
}
