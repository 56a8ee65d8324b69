package probe_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	tlspkg "crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/probe"
)

func TestMain(m *testing.M) { os.Exit(nmtest.Main(m)) }

// link is a node with one card and a neighbour at the far end.
func link(t *testing.T) *nmtest.Node {
	n := nmtest.Bare(t)
	n.Link("uplink0")
	n.IP("link", "set", "uplink0", "up")
	n.IP("addr", "add", "192.0.2.10/24", "dev", "uplink0")
	n.IP("addr", "add", "2001:db8::10/64", "dev", "uplink0", "nodad")
	n.Peer("addr", "add", "192.0.2.1/24", "dev", "uplink0p")
	n.Peer("addr", "add", "2001:db8::1/64", "dev", "uplink0p", "nodad")
	n.Peer("addr", "add", "fe80::1/64", "dev", "uplink0p", "nodad")
	return n
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func TestGateway(t *testing.T) {
	n := link(t)
	p := probe.New()
	for _, gw := range []string{"192.0.2.1", "2001:db8::1", "fe80::1", "fe80::1%uplink0"} {
		require.NoError(t, p.Gateway(within(t, time.Minute), addr(gw), "uplink0"), gw)
	}
	for _, gw := range []string{"192.0.2.99", "2001:db8::99", "fe80::99"} {
		err := p.Gateway(within(t, 700*time.Millisecond), addr(gw), "uplink0")
		require.ErrorIs(t, err, context.DeadlineExceeded, gw)
		require.ErrorContains(t, err, "gives no sign of life")
	}
	require.Error(t, p.Gateway(within(t, time.Second), addr("192.0.2.1"), "nosuch0"))

	// Many routers answer no echo, and need not.
	n.Peer("link", "set", "uplink0p", "down")
	require.Error(t, p.Gateway(within(t, 700*time.Millisecond), addr("192.0.2.1"), "uplink0"))
}

func TestGatewayWithoutEcho(t *testing.T) {
	n := link(t)
	n.InPeer(func() {
		require.NoError(t, os.WriteFile("/proc/sys/net/ipv4/icmp_echo_ignore_all", []byte("1"), 0o600))
		require.NoError(t, os.WriteFile("/proc/sys/net/ipv6/icmp/echo_ignore_all", []byte("1"), 0o600))
	})
	for _, gw := range []string{"192.0.2.1", "2001:db8::1"} {
		require.NoError(t, probe.New().Gateway(within(t, time.Minute), addr(gw), "uplink0"), gw)
	}
}

func TestGatewayThatComesLate(t *testing.T) {
	n := link(t)
	n.Peer("link", "set", "uplink0p", "down")
	done := make(chan error, 1)
	go func() { done <- probe.New().Gateway(within(t, 20*time.Second), addr("192.0.2.1"), "uplink0") }()
	n.Peer("link", "set", "uplink0p", "up")
	require.NoError(t, <-done)
}

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, s := range texts {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func TestProberContract(t *testing.T) {
	hostcontract.TestProber(t, func(t *testing.T) hostcontract.ProberFixture {
		n := link(t)
		n.Peer("link", "set", "lo", "up")
		n.Peer("route", "add", "local", "198.51.100.0/24", "dev", "lo") // a machine that takes a whole network for its own
		server(t, n, "udp", serving)
		plain, secure, authority := webServers(t, n)
		return hostcontract.ProberFixture{
			// The namespaces have no name service: a name is known from /etc/hosts, or not at all.
			Good: []host.Endpoint{
				{Kind: host.EndpointTCP, Target: strings.TrimPrefix(plain, "http://")},
				{Kind: host.EndpointHTTP, Target: plain + "/"},
				{Kind: host.EndpointHTTP, Target: plain + "/moved"},
				{Kind: host.EndpointHTTP, Target: plain + "/missing", StatusCodes: []int{404}},
				{Kind: host.EndpointHTTP, Target: secure + "/", SkipVerify: true},
				{Kind: host.EndpointHTTP, Target: secure + "/", CABundle: authority},
				{Kind: host.EndpointDNS, Target: "localhost"},
				{Kind: host.EndpointICMP, Target: "192.0.2.1"}, {Kind: host.EndpointICMP, Target: "2001:db8::1"},
			},
			Bad: []host.Endpoint{
				{Kind: host.EndpointTCP, Target: "192.0.2.1:9"}, {Kind: host.EndpointTCP, Target: "192.0.2.99:80"},
				{Kind: host.EndpointHTTP, Target: plain + "/missing"},
				{Kind: host.EndpointHTTP, Target: plain + "/", StatusCodes: []int{204}},
				{Kind: host.EndpointHTTP, Target: secure + "/"},
				{Kind: host.EndpointHTTP, Target: secure + "/", CABundle: []byte("no certificate")},
				{Kind: host.EndpointDNS, Target: "nobody.invalid"},
				{Kind: host.EndpointICMP, Target: "192.0.2.99"},
			},
			Prober: probe.New(), Link: "uplink0",
			Own:      []netip.Addr{addr("192.0.2.10"), addr("2001:db8::10")},
			Gateways: []netip.Addr{addr("192.0.2.1"), addr("2001:db8::1"), addr("fe80::1")},
			Servers:  []netip.Addr{addr("192.0.2.1"), addr("2001:db8::1")},
			Name:     "api.lab.example.com",
			Taken:    prefixes("192.0.2.1/24", "2001:db8::1/64"),
			Free:     prefixes("192.0.2.99/24", "2001:db8::99/64"),
			Proxied:  prefixes("198.51.100.20/24"),
		}
	})
}

func TestInUseTooShortToSayNo(t *testing.T) {
	link(t)
	_, err := probe.New().InUse(within(t, 100*time.Millisecond), netip.MustParsePrefix("192.0.2.99/24"), "uplink0")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// webServers serve in the peer namespace, one of them with a certificate of its own making.
func webServers(t *testing.T, n *nmtest.Node) (plain, secure string, authority []byte) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://192.0.2.99/", http.StatusFound)
	})
	start := func(tls bool) *httptest.Server {
		s := httptest.NewUnstartedServer(mux)
		_ = s.Listener.Close()
		n.InPeer(func() {
			l, err := net.Listen("tcp", "192.0.2.1:0")
			require.NoError(t, err)
			s.Listener = l
		})
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		if tls {
			template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.ParseIP("192.0.2.1")},
				IsCA: true, BasicConstraintsValid: true}
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			require.NoError(t, err)
			der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
			require.NoError(t, err)
			authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
			s.TLS = &tlspkg.Config{Certificates: []tlspkg.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
			s.StartTLS()
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		return s
	}
	plain, secure = start(false).URL, start(true).URL
	return plain, secure, authority
}

// server answers DNS in the peer namespace.
func server(t *testing.T, n *nmtest.Node, network string, answer func(query []byte) []byte) {
	t.Helper()
	n.InPeer(func() {
		if network == "udp" {
			c, err := net.ListenPacket("udp", ":53")
			require.NoError(t, err)
			t.Cleanup(func() { _ = c.Close() })
			go func() {
				buf := make([]byte, 512)
				for {
					k, from, err := c.ReadFrom(buf)
					if err != nil {
						return
					}
					_, _ = c.WriteTo(answer(buf[:k]), from)
				}
			}()
			return
		}
		l, err := net.Listen("tcp", ":53")
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				buf := make([]byte, 512)
				k, _ := c.Read(buf)
				if k > 2 {
					_, _ = c.Write(append(buf[:2:2], answer(buf[2:k])...))
				}
				_ = c.Close()
			}
		}()
	})
}

// withCode is an answer to a query: the query with the code.
func withCode(code byte) func([]byte) []byte {
	return func(q []byte) []byte {
		out := append([]byte(nil), q...)
		out[2], out[3] = out[2]|0x80, code
		return out
	}
}

var serving, nameError, serverFailure, refusing = withCode(0), withCode(3), withCode(2), withCode(5)

// serving1 serves one name and refuses everything else.
func serving1(name string) func([]byte) []byte {
	return func(q []byte) []byte {
		if bytes.Contains(q, []byte(name)) {
			return nameError(q)
		}
		return refusing(q)
	}
}

func TestDNS(t *testing.T) {
	p := probe.New()
	n := link(t)
	err := p.DNS(within(t, 600*time.Millisecond), addr("192.0.2.1"))
	require.ErrorContains(t, err, "DNS server 192.0.2.1 does not answer")
	server(t, n, "udp", serving)
	for _, a := range []string{"192.0.2.1", "2001:db8::1", "fe80::1%uplink0"} {
		require.NoError(t, p.DNS(within(t, time.Minute), addr(a)), a)
	}
}

// TestADNSServerHasToAnswerOverUDP, by which kubelet and pods ask.
func TestADNSServerHasToAnswerOverUDP(t *testing.T) {
	n := link(t)
	server(t, n, "tcp", serving)
	err := probe.New().DNS(within(t, 3*time.Second), addr("192.0.2.1"))
	require.EqualError(t, err, "DNS server 192.0.2.1: answers over TCP and not over UDP, by which the node's programs ask: "+
		"let UDP port 53 through")
}

// TestDNSThatDoesNotServeThisNode lives, and is of no use.
func TestDNSThatDoesNotServeThisNode(t *testing.T) {
	const name = "api.lab.example.com"
	for _, c := range []struct {
		name   string
		answer func([]byte) []byte
		says   string // empty: it serves
	}{
		{"refused", refusing, `DNS server 192.0.2.1 does not serve this node: the answer for "." is Refused`},
		{"failure", serverFailure, `the answer for "` + name + `." is ServerFailure`},
		{"no such name", nameError, ""},
		{"a name of the site, and not the root", serving1("example"), ""},
	} {
		for _, network := range []string{"udp", "tcp"} {
			t.Run(c.name+"/"+network, func(t *testing.T) {
				n := link(t)
				server(t, n, network, c.answer)
				err := probe.New().DNS(within(t, 2*time.Second), addr("192.0.2.1"), name)
				if c.says == "" && network == "udp" {
					require.NoError(t, err)
					return
				}
				if c.says == "" {
					require.ErrorContains(t, err, "answers over TCP and not over UDP")
					return
				}
				require.ErrorContains(t, err, c.says)
			})
		}
	}
}
