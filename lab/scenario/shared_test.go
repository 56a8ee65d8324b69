//go:build lab

package scenario

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"testing"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// shelf holds booted nodes of the usual site that a scenario has left as it found them, for the next one.
type shelf struct {
	mu   sync.Mutex
	made int
	free []*lab.Lab
}

var nodes shelf

func TestMain(m *testing.M) {
	code := m.Run()
	for _, l := range nodes.free {
		if err := l.Down(context.Background(), false); err != nil {
			fmt.Fprintln(os.Stderr, "take the node down:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// sharedNode is a node of the usual site that is Idle, at home, and may have served a scenario before. The scenario hands it on
// if it leaves it as it found it, which is looked at; otherwise the node is taken down.
func sharedNode(t *testing.T) (context.Context, *lab.Lab, *drive.Driver) {
	t.Helper()
	ctx := begin(t)
	l, name := nodes.take()
	if l == nil {
		l = boot(ctx, t, name, nil)
	}
	t.Cleanup(func() {
		if t.Failed() || !nodes.handOn(ctx, t, l) {
			takeDown(t, l)
		}
	})
	return ctx, l, driver(ctx, t, l, home, away)
}

// take returns a free node, or the name of one that has to be made.
func (s *shelf) take() (*lab.Lab, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.free) - 1; last >= 0 {
		l := s.free[last]
		s.free = s.free[:last]
		return l, ""
	}
	s.made++
	return nil, fmt.Sprintf("scenario-shared-%d", s.made)
}

// handOn keeps a node for the next scenario if nothing of this one is left on it.
func (s *shelf) handOn(ctx context.Context, t *testing.T, l *lab.Lab) bool {
	if err := asFound(ctx, l); err != nil {
		t.Logf("the node is not handed on: %v", err)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, l)
	return true
}

// asFound forgets what an Idle IPConfig was last asked for, and then says what else of a scenario is left on a node.
func asFound(ctx context.Context, l *lab.Lab) error {
	d, err := drive.New(l, nil, home)
	if err != nil {
		return err
	}
	ipc, err := d.Get(ctx)
	if err != nil {
		return err
	}
	if !drive.Is(lcav1.ConditionIdle)(ipc) {
		return fmt.Errorf("it is not Idle: %s", drive.Summary(ipc))
	}
	forget := object{"metadata": object{"annotations": nil}, "spec": object{"ipv4": nil, "ipv6": nil, "dnsServers": nil,
		"dnsFilterOutFamily": nil, "vlanID": nil, "probes": nil, "autoRollbackOnFailure": nil}}
	if err := d.Patch(ctx, forget); err != nil {
		return err
	}
	// Records of earlier changes stay on a node; the next scenario looks for its own.
	left, err := machine.Output(ctx, l.Machine, "sh", "-c",
		"rm -rf /var/lib/lca/journal/* /var/lib/lca/evidence/*; ls -A /ostree/deploy; find /etc/systemd/system -name scenario.conf")
	if err != nil || left != "rhcos" {
		return fmt.Errorf("left on the node: %q (%w)", left, err)
	}
	for _, site := range []network.Site{network.Home(), network.Away()} {
		for _, a := range []netip.Prefix{site.Gateway, site.DNS} {
			if err := l.Net.Ping(ctx, a.Addr()); err != nil {
				return fmt.Errorf("the LAN has lost %s: %w", a.Addr(), err)
			}
		}
	}
	if l.Net.Ping(ctx, away) == nil {
		return fmt.Errorf("somebody is at %s", away)
	}
	return nil
}
