package change_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// deafOverTheBridge is a node whose own DNS server loses the address when br-ex takes it over.
func deafOverTheBridge(t *testing.T) *world {
	w := newWorld(t)
	w.node.Program(host.UnitKubelet, func(ctx context.Context) error {
		if booted := w.node.Describe().Booted; booted != oldStateroot {
			w.node.Deafen()
		}
		return w.node.StartCluster(ctx)
	})
	return w
}

func restartsOfDnsmasq(w *world) (n int) {
	for _, op := range w.node.Ops() {
		if op.Name == "units.start" && op.Target == host.UnitDnsmasq {
			n++
		}
	}
	return n
}

func TestANodeThatDoesNotHearItsOwnQuestionsHasItsDNSServerStartedAnew(t *testing.T) {
	w := deafOverTheBridge(t)
	w.node.ForgetOps()
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
	require.Equal(t, 1, restartsOfDnsmasq(w))
	require.Empty(t, w.node.Failures())
	require.NoError(t, w.Again())
}

func TestADNSServerThatHearsIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.node.ForgetOps()
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
	require.Zero(t, restartsOfDnsmasq(w))
}

// slowly starts kubelet at the second asking: at the first it waits for a name that a deaf server does not give.
type slowly struct {
	host.Units
	w     *world
	asked *int
}

func (s slowly) Start(ctx context.Context, unit string) error {
	if unit == host.UnitKubelet {
		if *s.asked++; *s.asked == 1 {
			s.w.node.Deafen()
			return context.DeadlineExceeded
		}
	}
	return s.Units.Start(ctx, unit)
}

func TestAKubeletThatWaitsForANameIsHelped(t *testing.T) {
	w := newWorld(t)
	asked := 0
	w.arrival = func(w *world) { w.units = slowly{w.node.Units(), w, &asked} }
	w.node.ForgetOps()
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
	require.Equal(t, 2, asked, "it is waited for in the same run")
	require.Equal(t, 1, restartsOfDnsmasq(w))
}

// TestAnAPIThatWaitsForANameIsHelped has kubelet run, and nothing else until names are known.
func TestAnAPIThatWaitsForANameIsHelped(t *testing.T) {
	w := deafOverTheBridge(t)
	var asked time.Time
	w.noAPI = func() error {
		if asked.IsZero() {
			asked = w.clock.now
		}
		if restartsOfDnsmasq(w) == 0 {
			return errors.New("no such host")
		}
		require.Less(t, w.clock.now.Sub(asked), time.Minute)
		return w.node.ClusterUp()
	}
	w.node.ForgetOps()
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
}

// TestADNSServerThatCannotBeMendedIsNamed keeps it deaf whatever is done: kubelet could not do without it.
func TestADNSServerThatCannotBeMendedIsNamed(t *testing.T) {
	w := newWorld(t)
	w.arrival = func(w *world) {
		w.node.Program(host.UnitDnsmasq, func(context.Context) error { w.node.Deafen(); return nil })
		w.node.Deafen()
	}
	require.NoError(t, w.Live(nil))
	w.requireVerdict("old")
	p := w.progress()
	require.True(t, p.Automatic(), p.Cause)
	require.Equal(t, ipconfig.StepProveNetwork, p.PostPivot.Step)
	require.Contains(t, p.Cause, "/etc/resolv.conf names 198.51.100.20, where dnsmasq.service does not listen")
	w.node.Program(host.UnitDnsmasq, nil)
	require.NoError(t, w.Again())
}

// hearing is a world whose node must listen to itself in the end.
type hearing struct{ *world }

func (w hearing) Judge() (string, error) {
	verdict, err := w.world.Judge()
	if err != nil {
		return "", err
	}
	at := map[string]string{"old": oldSite.address, "new": newSite.address}[verdict] + ":53"
	return verdict, w.node.Prober().Reach(context.Background(), host.Endpoint{Kind: host.EndpointTCP, Target: at})
}

// TestTheDNSServerIsNeverLeftDown kills the program at every operation of a change that has to start the DNS server
// anew, with and without the node.
func TestTheDNSServerIsNeverLeftDown(t *testing.T) {
	plans := plansOf(t)[1:2]
	killed := flowtest.Matrix(t, plans, func(t *testing.T) flowtest.World {
		w := deafOverTheBridge(t)
		w.killOnly = true
		return hearing{w}
	})
	cut := flowtest.Matrix(t, plans, func(t *testing.T) flowtest.World { return deafOverTheBridge(t) })
	t.Logf("crash matrix, deaf DNS server: killed: %s; power-cut: %s", killed, cut)
	if !testing.Short() { // which meets some of the steps
		require.Positive(t, killed.Verdicts["new"])
		require.Positive(t, cut.Verdicts["new"])
	}
}

// TestTheNodesOwnResolverHasToForward: dnsmasq listens, and refuses what the site's server answers.
func TestTheNodesOwnResolverHasToForward(t *testing.T) {
	w := newWorld(t)
	w.arrival = func(w *world) { w.node.Refuse(netip.MustParseAddr(newSite.address)) }
	require.NoError(t, w.Live(nil))
	w.requireVerdict("old")
	require.Contains(t, w.progress().Cause, "the DNS servers of the site answer, and dnsmasq.service, which /etc/resolv.conf names "+
		"for the node's programs, does not: ask name server 198.51.100.20: refused")
	require.NoError(t, w.Again())
}

// TestASiteThatKnowsNoNameProvesNothing about the node's own server: an isolated site may know the API's name alone.
func TestASiteThatKnowsNoNameProvesNothing(t *testing.T) {
	w := newWorld(t)
	w.arrival = func(w *world) {
		w.node.Refuse(netip.MustParseAddr(newSite.address))
		w.node.Know(netip.MustParseAddr(newSite.dns), bringup.APIName(w.node.Files()))
	}
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
}
