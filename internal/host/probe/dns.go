package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const portDNS = 53

// DNS implements host.Prober. It asks for the name servers of the root, which every
// resolver can answer or refuse without asking elsewhere; over UDP, and where that
// fails over TCP in turn.
func (p *Prober) DNS(ctx context.Context, server netip.Addr) error {
	var last error
	for n := 0; ctx.Err() == nil; n++ {
		network := [...]string{"udp", "tcp"}[n%2]
		attempt, cancel := context.WithTimeout(ctx, 2*again)
		last = query(attempt, network, netip.AddrPortFrom(withIndex(server.Unmap()), portDNS))
		<-pause(attempt, last)
		cancel()
		if last == nil {
			return nil
		}
	}
	return fmt.Errorf("DNS server %s does not answer: %w", server, errors.Join(context.Cause(ctx), last))
}

// withIndex names the zone by number. Package net remembers names for a minute, too long
// where the interface has just been recreated.
func withIndex(a netip.Addr) netip.Addr {
	link, err := net.InterfaceByName(a.Zone())
	if err != nil {
		return a
	}
	return a.WithZone(strconv.Itoa(link.Index))
}

// pause holds a failed attempt until its time is over: a server that is just starting
// refuses at once, and must not be asked a thousand times a second.
func pause(ctx context.Context, failed error) <-chan struct{} {
	if failed != nil {
		return ctx.Done()
	}
	over := make(chan struct{})
	close(over)
	return over
}

// query asks once and checks that what comes back is an answer to it.
func query(ctx context.Context, network string, server netip.AddrPort) error {
	id := uint16(rand.Uint32()) // distinguishes a late answer; not a secret
	root := dnsmessage.MustNewName(".")
	msg := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: root, Type: dnsmessage.TypeNS, Class: dnsmessage.ClassINET}},
	}
	packed, err := msg.Pack()
	if err != nil {
		return err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, server.String())
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if network == "tcp" {
		packed = append([]byte{byte(len(packed) >> 8), byte(len(packed))}, packed...)
	}
	if _, err := conn.Write(packed); err != nil {
		return err
	}
	answer, err := readAnswer(conn, network)
	if err != nil {
		return err
	}
	return wellFormed(answer, id)
}

// readAnswer reads one message; over TCP its length comes first (RFC 1035 section 4.2.2).
func readAnswer(conn net.Conn, network string) ([]byte, error) {
	buf := make([]byte, 1<<16)
	if network == "udp" {
		n, err := conn.Read(buf)
		return buf[:n], err
	}
	if _, err := io.ReadFull(conn, buf[:2]); err != nil {
		return nil, err
	}
	n := int(buf[0])<<8 | int(buf[1])
	_, err := io.ReadFull(conn, buf[:n])
	return buf[:n], err
}

// wellFormed accepts every response to our question, a refusal too: the server lives.
func wellFormed(answer []byte, id uint16) error {
	var p dnsmessage.Parser
	h, err := p.Start(answer)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if !h.Response || h.ID != id {
		return errors.New("what came back is no answer to the question")
	}
	if err := p.SkipAllQuestions(); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}
