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
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const portDNS = 53

// DNS implements host.Prober. The name servers of the root are what every resolver knows that reaches the Internet;
// the names are for those that do not. UDP counts, by which kubelet and pods ask; TCP is asked in turn to explain a silence.
func (p *Prober) DNS(ctx context.Context, server netip.Addr, names ...string) error {
	questions, err := questionsFor(names)
	if err != nil {
		return fmt.Errorf("ask DNS server %s: %w", server, err)
	}
	var last, refusal error
	overTCP := false
	for n := 0; ctx.Err() == nil; n++ {
		network := [...]string{"udp", "tcp"}[n%2]
		attempt, cancel := context.WithTimeout(ctx, 2*again)
		err := queryAny(attempt, network, netip.AddrPortFrom(withIndex(server.Unmap()), portDNS), questions)
		if err == nil && network == "udp" {
			cancel()
			return nil
		}
		overTCP, last = overTCP || err == nil, err
		<-attempt.Done() // a server that is just starting refuses at once, and must not be asked a thousand times a second
		cancel()
		if refused := (*refusedError)(nil); errors.As(last, &refused) {
			refusal = last
		}
	}
	switch {
	case refusal != nil:
		return fmt.Errorf("DNS server %s does not serve this node: %w", server, refusal)
	case overTCP:
		return fmt.Errorf("DNS server %s: %w", server, errNoUDP)
	}
	return fmt.Errorf("DNS server %s does not answer: %w", server, errors.Join(context.Cause(ctx), last))
}

// errNoUDP is a server behind a firewall, for instance, that lets one of the two protocols through.
var errNoUDP = errors.New("answers over TCP and not over UDP, by which the node's programs ask: let UDP port 53 through")

func questionsFor(names []string) ([]dnsmessage.Question, error) {
	root := dnsmessage.Question{Name: dnsmessage.MustNewName("."), Type: dnsmessage.TypeNS, Class: dnsmessage.ClassINET}
	questions := []dnsmessage.Question{root}
	for _, name := range names {
		full, err := dnsmessage.NewName(strings.TrimSuffix(name, ".") + ".")
		if err != nil {
			return nil, fmt.Errorf("name %q: %w", name, err)
		}
		questions = append(questions, dnsmessage.Question{Name: full, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET})
	}
	return questions, nil
}

// queryAny asks all questions at once, since a server without the Internet may take long to say what it does not know
// of the root.
func queryAny(ctx context.Context, network string, server netip.AddrPort, questions []dnsmessage.Question) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		to  int
		err error
	}
	answers := make(chan answer, len(questions))
	for i, question := range questions {
		go func() { answers <- answer{i, queryOnce(ctx, network, server, question)} }()
	}
	failures := make([]error, len(questions))
	for range questions {
		a := <-answers
		if a.err == nil {
			return nil
		}
		failures[a.to] = a.err
	}
	return errors.Join(failures...)
}

// refusedError is an answer without service.
type refusedError struct {
	name dnsmessage.Name
	code dnsmessage.RCode
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("the answer for %q is %s", e.name, strings.TrimPrefix(e.code.String(), "RCode"))
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

// queryOnce asks once and checks that what comes back is an answer to it.
func queryOnce(ctx context.Context, network string, server netip.AddrPort, question dnsmessage.Question) error {
	id := uint16(rand.Uint32()) // distinguishes a late answer; not a secret
	msg := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{question},
	}
	packed, err := msg.Pack()
	if err != nil {
		return fmt.Errorf("encode the question: %w", err)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, server.String())
	if err != nil {
		return fmt.Errorf("connect to %s: %w", server, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if network == "tcp" {
		packed = append([]byte{byte(len(packed) >> 8), byte(len(packed))}, packed...)
	}
	if _, err := conn.Write(packed); err != nil {
		return fmt.Errorf("send the question: %w", err)
	}
	answer, err := readAnswer(conn, network)
	if err != nil {
		return err
	}
	return checkAnswer(answer, id, question.Name)
}

// readAnswer reads one message; over TCP its length comes first (RFC 1035 section 4.2.2).
func readAnswer(conn net.Conn, network string) ([]byte, error) {
	buf := make([]byte, 1<<16)
	if network == "udp" {
		n, err := conn.Read(buf)
		return buf[:n], err
	}
	if _, err := io.ReadFull(conn, buf[:2]); err != nil {
		return nil, fmt.Errorf("read the length of the answer: %w", err)
	}
	n := int(buf[0])<<8 | int(buf[1])
	_, err := io.ReadFull(conn, buf[:n])
	return buf[:n], err
}

// checkAnswer accepts a response to our question that has what was asked for, or says that it does not exist.
func checkAnswer(answer []byte, id uint16, name dnsmessage.Name) error {
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
	if h.RCode != dnsmessage.RCodeSuccess && h.RCode != dnsmessage.RCodeNameError {
		return &refusedError{name, h.RCode}
	}
	return nil
}
