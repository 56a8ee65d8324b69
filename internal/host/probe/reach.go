package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Reach implements host.Prober.
func (p *Prober) Reach(ctx context.Context, e host.Endpoint) error {
	var err error
	switch e.Kind {
	case host.EndpointTCP:
		err = dialTCP(ctx, e.Target)
	case host.EndpointHTTP:
		err = getURL(ctx, e)
	case host.EndpointDNS:
		_, err = lookUp(ctx, e.Target)
	case host.EndpointICMP:
		err = echoFrom(ctx, e.Target)
	default:
		err = fmt.Errorf("no such kind of endpoint as %q", e.Kind)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", e.Kind, e.Target, err)
	}
	return nil
}

// newResolver reads the node's resolv.conf by itself: no name service of this process may answer from memory.
func newResolver() *net.Resolver { return &net.Resolver{PreferGo: true} }

func dialTCP(ctx context.Context, target string) error {
	conn, err := (&net.Dialer{Resolver: newResolver()}).DialContext(ctx, "tcp", target)
	if err != nil {
		return err
	}
	return conn.Close()
}

func lookUp(ctx context.Context, name string) ([]netip.Addr, error) {
	found, err := newResolver().LookupNetIP(ctx, "ip", name)
	if err == nil && len(found) == 0 {
		err = errors.New("the name has no address")
	}
	return found, err
}

// echoFrom asks each address of the host in turn.
func echoFrom(ctx context.Context, target string) error {
	addrs := []netip.Addr{}
	if a, err := netip.ParseAddr(target); err == nil {
		addrs = append(addrs, a)
	} else if addrs, err = lookUp(ctx, target); err != nil {
		return err
	}
	answers := make(chan error, len(addrs))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, a := range addrs {
		go func() { answers <- probeEcho(ctx, a.Unmap(), nil) }()
	}
	var failures []error
	for range addrs {
		err := <-answers
		if err == nil {
			return nil
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// getURL asks the URL itself: no proxy, no redirect, no connection of an earlier question.
func getURL(ctx context.Context, e host.Endpoint) error {
	trust, err := trustOf(e)
	if err != nil {
		return err
	}
	client := &http.Client{
		Transport: &http.Transport{
			DialContext: (&net.Dialer{Resolver: newResolver()}).DialContext, TLSClientConfig: trust, DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.Target, nil)
	if err != nil {
		return fmt.Errorf("form the request for %s: %w", e.Target, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return errors.Unwrap(err) // without the method and the URL, which the caller says
	}
	defer response.Body.Close()
	code := response.StatusCode
	usual := len(e.StatusCodes) == 0 && code >= 200 && code < 400
	if usual || slices.Contains(e.StatusCodes, code) {
		return nil
	}
	return fmt.Errorf("the answer is %s", response.Status)
}

func trustOf(e host.Endpoint) (*tls.Config, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: e.SkipVerify} //nolint:gosec // only if the probe asks for it
	if len(e.CABundle) == 0 {
		return trust, nil
	}
	trust.RootCAs = x509.NewCertPool()
	if !trust.RootCAs.AppendCertsFromPEM(e.CABundle) {
		return nil, errors.New("the CA bundle holds no certificate")
	}
	return trust, nil
}
