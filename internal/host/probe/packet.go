package probe

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// packetSocket speaks to a link below IP; the kernel adds and strips the link's header. packet(7).
// It hears every protocol and lets the kernel drop all but the one of its question: a card that is a port
// of Open vSwitch hands its packets to the bridge before those who ask for a single protocol get to see them.
type packetSocket struct {
	file *os.File
	to   unix.SockaddrLinklayer
}

func openPacketSocket(link *net.Interface, q question) (*packetSocket, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a packet socket: %w", err)
	}
	s := &packetSocket{
		file: os.NewFile(uintptr(fd), "packet"),
		to:   unix.SockaddrLinklayer{Protocol: bigEndian(q.protocol), Ifindex: link.Index},
	}
	if err := attachFilter(fd, protocolFilter(q)); err != nil {
		s.close()
		return nil, fmt.Errorf("filter a packet socket: %w", err)
	}
	all := unix.SockaddrLinklayer{Protocol: bigEndian(unix.ETH_P_ALL), Ifindex: link.Index}
	if err := unix.Bind(fd, &all); err != nil {
		s.close()
		return nil, fmt.Errorf("listen on %s: %w", link.Name, err)
	}
	return s, nil
}

// protocolFilter is a program that passes the question's protocol, as far as the question's own filter does.
func protocolFilter(q question) []bpf.Instruction {
	passes := q.filter
	if len(passes) == 0 {
		passes = []bpf.Instruction{bpf.RetConstant{Val: 4096}}
	}
	return append([]bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtProto}, bpf.JumpIf{Val: uint32(q.protocol), SkipTrue: 1}, bpf.RetConstant{Val: 0},
	}, passes...)
}

func attachFilter(fd int, program []bpf.Instruction) error {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return fmt.Errorf("assemble the filter: %w", err)
	}
	var code []unix.SockFilter
	for _, r := range raw {
		code = append(code, unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K})
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]})
}

func bigEndian(v uint16) uint16 { return v<<8 | v>>8 }

func (s *packetSocket) close() { _ = s.file.Close() } // nothing is buffered

// interrupt ends a receive that waits.
func (s *packetSocket) interrupt() { _ = s.file.SetReadDeadline(time.Unix(1, 0)) }

func (s *packetSocket) send(packet []byte, to net.HardwareAddr) error {
	addr := s.to
	addr.Halen = uint8(copy(addr.Addr[:], to))
	raw, err := s.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("reach the socket: %w", err)
	}
	var sent error
	err = raw.Write(func(fd uintptr) bool {
		sent = unix.Sendto(int(fd), packet, 0, &addr)
		return sent != unix.EAGAIN
	})
	if err != nil {
		return fmt.Errorf("send a packet: %w", err)
	}
	return sent
}

// receiveMatching calls match for each packet until it says yes.
func (s *packetSocket) receiveMatching(match func([]byte) bool) error {
	buf := make([]byte, 4096)
	for {
		n, err := s.file.Read(buf)
		if err != nil {
			return fmt.Errorf("receive a packet: %w", err)
		}
		if match(buf[:n]) {
			return nil
		}
	}
}

// askRepeatedly asks at once and then every pause until heard reports or ctx ends. A question that
// cannot be sent now (the link is just coming up) is asked again. limit bounds the
// questions, 0 for no bound. interrupt makes heard report.
func askRepeatedly(ctx context.Context, limit int, send func() error, heard chan error, interrupt func()) error {
	tick := time.NewTicker(again)
	defer tick.Stop()
	var last error
	for n := 0; ; n++ {
		if limit == 0 || n < limit {
			last = send()
		}
		select {
		case err := <-heard:
			return err
		case <-ctx.Done():
			interrupt()
			if err := <-heard; err == nil {
				return nil // the answer came at the last moment
			}
			if last != nil {
				return fmt.Errorf("%w (%w)", context.Cause(ctx), last)
			}
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}
