package nm

import (
	"context"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/plan"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// answerTime is how long a change waits for the answer of a network that nothing needs: most come at once, and the caller may want to
// use the addresses. NetworkManager goes on asking without end.
const answerTime = 10 * time.Second

// answers bounds that wait.
type answers struct {
	patience time.Duration
	since    time.Time
}

// stillAwaited names what is asked, until patience is over.
func (a *answers) stillAwaited(asking []string, now time.Time) []string {
	if a.since.IsZero() {
		a.since = now
	}
	if now.Sub(a.since) >= a.patience {
		return nil
	}
	return asking
}

// newlyAsked names the interfaces that were up already and ask for a lease since the change: NetworkManager calls them activated.
func (t *transaction) newlyAsked(got netstate.Document) []string {
	var out []string
	for _, c := range t.changes {
		is, _ := got.Find(c.Iface, "")
		was, _ := t.now.Find(c.Iface, "")
		if c.Action == plan.ActUp && plan.IsAutomatic(c.After, netstate.IPv4) && !was.IPv4.Auto() && !hasLease(c.After, is, netstate.IPv4) {
			out = append(out, "the network of "+c.Iface+" has not answered yet")
		}
	}
	return out
}

// servesAlready says that an interface which NetworkManager activates has all that the node can give it. asks: it lacks an address that
// its network is to give, and not only the look for another host with a fixed one.
func (t *transaction) servesAlready(ctx context.Context, on target) (serves, asks bool, err error) {
	c, ok := t.changeUp(on)
	if !ok || !plan.AwaitsNetwork(c.After) {
		return false, false, nil
	}
	s, err := t.c.readSnapshot(ctx)
	if err != nil {
		return false, false, fmt.Errorf("observe the activation of %s: %w", on.iface, err)
	}
	d, exists := s.DeviceAt(on.layer, on.iface)
	asks = plan.IsAutomatic(c.After, netstate.IPv4) || plan.IsAutomatic(c.After, netstate.IPv6)
	return exists && d.Active != nil && d.Active.UUID == c.UUID && d.Serves(true), asks, nil
}

// changeUp is the change that brings a device up.
func (t *transaction) changeUp(on target) (*plan.Change, bool) {
	for _, c := range t.changes {
		if c.Iface == on.iface && c.Layer() == on.layer && c.Action == plan.ActUp {
			return c, true
		}
	}
	return nil, false
}

// findUnleased names the interfaces whose network has to answer before a change is kept, and has not: the document may say nothing of
// addresses.
func (t *transaction) findUnleased(got netstate.Document) []string {
	var out []string
	for _, c := range t.changes {
		is, _ := got.Find(c.Iface, "")
		for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
			if c.Action == plan.ActUp && t.needsAnswer(c, f, got) && !hasLease(c.After, is, f) {
				out = append(out, fmt.Sprintf("interface %s has no %s address from the network yet", c.Iface, f))
			}
		}
	}
	return out
}

// needsAnswer says that a family of an interface cannot do without its network: it had addresses from it before, or the node's default
// route of the family is gone and only the network can bring another.
func (t *transaction) needsAnswer(c *plan.Change, f netstate.Family, got netstate.Document) bool {
	if !plan.IsAutomatic(c.After, f) {
		return false
	}
	was, _ := t.now.Find(c.Iface, "")
	if had := f.Of(was); had.Auto() && len(had.Addresses) > 0 && (c.From != nil || anyLeased(had)) {
		return true
	}
	_, had := netstate.DefaultRoute(t.now, f, "")
	_, has := netstate.DefaultRoute(got, f, "")
	return had && !has && !profile.Value[bool](c.After, profile.Section(f), "never-default")
}

func anyLeased(ip *netstate.IP) bool {
	for _, a := range ip.Addresses {
		if a.Leased {
			return true
		}
	}
	return false
}

// hasLease says that an interface has an address that its profile does not give it.
func hasLease(s profile.Settings, is netstate.Interface, f netstate.Family) bool {
	if f.Of(is) == nil {
		return false
	}
	return len(f.Of(is).Addresses) > len(s.Dicts(profile.Section(f), "address-data"))
}
