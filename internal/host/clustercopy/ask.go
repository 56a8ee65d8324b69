package clustercopy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/vishvananda/netns"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

const (
	askTime = 10 * time.Second
	// maxBody bounds an answer: a list of all nodes of a single-node cluster is far smaller.
	maxBody = 8 << 20
)

// Ask implements host.ControlPlaneCopies.
func (c *Copies) Ask(ctx context.Context, q host.Question) (host.Reply, error) {
	security, err := tlsConfig(q)
	if err != nil {
		return host.Reply{}, err
	}
	dial := (&net.Dialer{}).DialContext
	if !q.Running {
		dial = c.dialInside
	}
	transport := &http.Transport{TLSClientConfig: security, DialContext: dial, DisableKeepAlives: true}
	client := &http.Client{Transport: transport, Timeout: askTime}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+q.At.String()+q.Path, nil)
	if err != nil {
		return host.Reply{}, fmt.Errorf("ask %s: %w", q.At, err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return host.Reply{}, fmt.Errorf("ask %s: %w", q.At, err)
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	if err != nil {
		return host.Reply{}, fmt.Errorf("read the answer of %s: %w", q.At, err)
	}
	return host.Reply{Status: answer.StatusCode, Body: body}, nil
}

func tlsConfig(q host.Question) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: q.ServerName, RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(q.Authorities) {
		return nil, errors.New("no certificate of an authority to verify the server by")
	}
	if len(q.Certificate) > 0 {
		pair, err := tls.X509KeyPair(q.Certificate, q.Key)
		if err != nil {
			return nil, fmt.Errorf("load the client's certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// dialInside dials an address from the network of the copy: a socket stays in the namespace in which it was made.
func (c *Copies) dialInside(ctx context.Context, network, address string) (net.Conn, error) {
	runtime.LockOSThread()
	before, err := netns.Get()
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("look at the network of this process: %w", err)
	}
	defer func() { _ = before.Close() }()
	defer func() {
		if netns.Set(before) == nil {
			runtime.UnlockOSThread() // a thread that stays elsewhere must end with its goroutine
		}
	}()
	inside, err := netns.GetFromPath(c.o.Namespace)
	if err != nil {
		return nil, fmt.Errorf("open the copy's network: %w", err)
	}
	defer func() { _ = inside.Close() }()
	if err := netns.Set(inside); err != nil {
		return nil, fmt.Errorf("enter the copy's network: %w", err)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}
