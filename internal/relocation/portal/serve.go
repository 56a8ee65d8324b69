package portal

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/netutil"
)

// Bounds on connections.
const (
	maxConnections = 64
	maxOfOne       = 16 // of one client
	headerTimeout  = 10 * time.Second
	readTimeout    = time.Minute // of an upload over a poor link
	idleTimeout    = time.Minute
	maxHeader      = 16 << 10 // bytes
)

// After the change is committed the page stays for the result: until the hand-over file was downloaded and a little
// longer, at most so long.
const (
	resultLife  = 15 * time.Minute
	lastGlimpse = 30 * time.Second
	lookEvery   = 2 * time.Second
)

// Serve answers on the listener until the change is committed and its result was shown, or the context ends.
func (p *Portal) Serve(ctx context.Context, l net.Listener, certificate tls.Certificate) error {
	server := &http.Server{
		Handler: p, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ErrorLog:  slog.NewLogLogger(p.options.Log.Handler(), slog.LevelDebug),
	}
	done := make(chan error, 1)
	shared := netutil.LimitListener(&fairListener{Listener: l, share: maxOfOne, open: map[netip.Prefix]int{}}, maxConnections)
	go func() { done <- server.ServeTLS(shared, "", "") }()
	finished, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		p.awaitEnd(ctx)
		cancel()
	}()
	select {
	case err := <-done:
		return fmt.Errorf("serve the page on %s: %w", l.Addr(), err)
	case <-finished.Done():
	}
	stop, cancelStop := context.WithTimeout(context.WithoutCancel(ctx), headerTimeout)
	defer cancelStop()
	if err := server.Shutdown(stop); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("close the page: %w", err)
	}
	return ctx.Err()
}

// awaitEnd returns when nobody needs the page any more.
func (p *Portal) awaitEnd(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now, err := p.options.Site.Progress(ctx); err == nil && now.State == Succeeded && now.Committed {
			break
		}
	}
	for _, w := range []struct {
		until <-chan struct{}
		limit time.Duration
	}{{p.downloaded, resultLife}, {nil, lastGlimpse}} {
		select {
		case <-ctx.Done():
		case <-w.until:
		case <-time.After(w.limit):
		}
	}
}

// Certificate makes a certificate for the addresses, and its fingerprint for the console. It is valid from a day ago:
// the clock of a node that was on a shelf may be wrong.
func Certificate(now time.Time, addresses ...netip.Addr) (tls.Certificate, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return tls.Certificate{}, "", fmt.Errorf("make a serial number: %w", err)
	}
	const day = 24 * time.Hour
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Lifecycle Agent site setup"},
		NotBefore: now.Add(-day), NotAfter: now.Add(90 * day), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, a := range addresses {
		template.IPAddresses = append(template.IPAddresses, a.AsSlice())
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, "", fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, Fingerprint(der), nil
}

// Fingerprint is the SHA-256 of a certificate as browsers show it.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}
