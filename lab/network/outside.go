package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Outside calls do with the calling goroutine's thread inside the LAN namespace, so sockets it opens look at the node from
// outside. Goroutines that do starts are not inside. A socket stays in the namespace it was made in.
func (n Network) Outside(do func() error) error { return inside(n.LAN(), do) }

func inside(name string, do func() error) error {
	space, err := os.Open(spacePath(name))
	if err != nil {
		return fmt.Errorf("enter network namespace %s: %w", name, err)
	}
	defer space.Close()
	result := make(chan error, 1)
	go func() {
		// Never unlocked: a thread that has changed namespace ends with this goroutine and is not used again.
		runtime.LockOSThread()
		if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
			result <- fmt.Errorf("enter network namespace %s: %w", name, err)
			return
		}
		result <- do()
	}()
	return <-result
}

// DialContext connects from the LAN. The address must be a literal one: a name would be looked up by the host.
func (n Network) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return nil, fmt.Errorf("dial %s from the LAN: the host must be an IP address", address)
	}
	var conn net.Conn
	err = n.Outside(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// HTTPClient returns a client whose connections start in the LAN; each request opens its own connection, so an answer is
// always the present node's.
func (n Network) HTTPClient(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:   timeout,
		Transport: &http.Transport{DialContext: n.DialContext, DisableKeepAlives: true},
	}
}

// Ping sends one ICMP echo request from the LAN and waits up to a second for the answer.
func (n Network) Ping(ctx context.Context, address netip.Addr) error {
	out, err := exec.CommandContext(ctx, "ip", "netns", "exec", n.LAN(), "ping", "-n", "-c", "1", "-W", "1", address.String()).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return fmt.Errorf("ping %s from the LAN: no answer", address)
	}
	if err != nil {
		return fmt.Errorf("ping %s from the LAN: %w: %s", address, err, out)
	}
	return nil
}
