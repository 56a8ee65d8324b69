package onsite_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
)

// returning is a node that is ill at its first site, goes back to the factory state by itself, and gets a second
// configuration there.
type returning struct{ *world }

func (w returning) Live(bomb *flowtest.Bomb) error {
	w.sick = errIll
	if err := w.world.Live(bomb); err != nil {
		return err
	}
	w.sick = nil
	w.stick += "# corrected\n"
	return w.switchOn()
}

func (w returning) Judge() (string, error) {
	w.stick = w.stick[:len(w.stick)-len("# corrected\n")]
	return w.world.Judge()
}

// The parts run side by side: each cell is a node of its own.
func TestCrashMatrix(t *testing.T) {
	r := relocation.Request{OperationID: "x", Factory: "o", Site: "n"}
	back := []flow.Plan{(&onsite.Back{Request: r}).Plan(), factory.Again(factory.Ports{}, r)}
	for name, kill := range map[string]bool{"power-cut": false, "killed": true} {
		for part, m := range map[string]struct {
			plans []flow.Plan
			world func(*world) flowtest.World
		}{
			"there":          {plans(), func(w *world) flowtest.World { return w }},
			"back and again": {back, func(w *world) flowtest.World { return returning{w} }},
		} {
			t.Run(name+", "+part, func(t *testing.T) {
				t.Parallel()
				for _, p := range m.plans {
					require.NoError(t, p.Validate())
				}
				got := flowtest.Matrix(t, m.plans, func(t *testing.T) flowtest.World { return m.world(newWorld(t, kill)) })
				t.Logf("%s, %s: %s", name, part, got)
				require.Equal(t, got.Cells, got.Verdicts["home"], "whatever happens on the way, the node gets home")
			})
		}
	}
}

func TestADeadGatewayChangesNothingAndIsTriedAgain(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.prepare())
	gateway := netip.MustParseAddr("198.51.100.1")
	w.node.Silence(gateway)
	w.stick = siteFor("198.51.100")
	require.NoError(t, w.switchOn())
	d := w.node.Describe()
	require.True(t, relocation.IsSite(d.Booted), "nothing was changed, so there is nothing to go back from")
	require.Equal(t, []string{factoryAddress}, d.Running)
	last, err := relocation.ReadLast(w.node.Files())
	require.NoError(t, err)
	require.Equal(t, relocation.OutcomeRetry, last.Outcome)
	require.Greater(t, last.Attempts, 1)
	require.Contains(t, last.Cause, "198.51.100.1")
	require.Equal(t, sitecode.GatewaySilent, last.Code())

	w.node.Answer(gateway)
	require.NoError(t, w.node.Seed(relocation.LastFile, []byte("{}")))
	require.NoError(t, w.switchOn())
	verdict, err := w.Judge()
	require.NoError(t, err)
	last, _ = relocation.ReadLast(w.node.Files())
	require.Equal(t, "home", verdict, "%v %+v", w.node.Failures(), last)
}

func TestAnUnhealthyClusterGoesBackToTheFactoryState(t *testing.T) {
	w := newWorld(t, false)
	w.sick = errIll
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "factory", verdict)
	last, err := relocation.ReadLast(w.node.Files())
	require.NoError(t, err)
	require.Equal(t, relocation.OutcomeReturned, last.Outcome)
	require.Contains(t, last.Cause, "the storage operator is degraded")
	require.NotEmpty(t, operation.Records(w.node.Files(), last.OperationID), "journal and evidence came along")

	w.sick, w.again = nil, true
	require.NoError(t, w.switchOn())
	verdict, err = w.Judge()
	require.NoError(t, err)
	last, _ = relocation.ReadLast(w.node.Files())
	require.Equal(t, "home", verdict, "%v %+v", w.node.Failures(), last)
	require.NoError(t, w.Again())
}

func TestAConfigurationForAnotherNodeIsRefusedUntouched(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.prepare())
	w.stick = siteFor("198.51.100") + "nodeIPs: [198.51.100.20, 2001:db8::20]\n"
	require.NoError(t, w.switchOn())
	last, err := relocation.ReadLast(w.node.Files())
	require.NoError(t, err)
	require.Equal(t, relocation.OutcomeRefused, last.Outcome)
	require.Contains(t, last.Cause, "nodeIPs")
	require.Equal(t, []string{factoryAddress}, w.node.Describe().Running)
}

// A site's DNS server that knows its own domain alone, and refuses all others, is as good as any.
func TestADNSServerOfTheSiteAlone(t *testing.T) {
	server := netip.MustParseAddr("198.51.100.1")
	mirrors := "imageDigestMirrors:\n- source: quay.io/openshift-release-dev\n  mirrors: [registry.edge.example.org:5000/ocp]\n"
	for name, k := range map[string]struct {
		known, more, verdict string
	}{
		"the name of the API":  {"api.store42.edge.example.org", "", "home"},
		"the name of a mirror": {"registry.edge.example.org", mirrors, "home"},
		"neither":              {"elsewhere.example.org", mirrors, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			require.NoError(t, w.prepare())
			w.node.Know(server, k.known)
			w.stick = siteFor("198.51.100")
			plain := w.stick
			w.stick += k.more
			require.NoError(t, w.switchOn())
			last, err := relocation.ReadLast(w.node.Files())
			require.NoError(t, err)
			if k.verdict == "" {
				require.Equal(t, sitecode.DNSSilent, last.Code(), last.Cause)
				return
			}
			w.stick = plain
			verdict, err := w.Judge()
			require.NoError(t, err, last.Cause)
			require.Equal(t, k.verdict, verdict)
		})
	}
}
