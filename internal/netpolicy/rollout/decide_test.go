package rollout

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// fleet makes ready nodes n0, n1, ... of a word of letters: p pending, g granted, x progressing, r retrying, f failed, a available and
// granted, A available without a grant, o aborted, u unknown. A letter after a dash is of a node that is not ready.
func fleet(word string) (nodes []Node) {
	ready := true
	for _, c := range word {
		if c == '-' {
			ready = false
			continue
		}
		states := map[rune]Node{
			'p': {State: condition.Pending}, 'g': {State: condition.Pending, Granted: true}, 'x': {State: condition.Progressing, Granted: true},
			'r': {State: condition.Retrying, Granted: true}, 'f': {State: condition.Failed, Granted: true},
			'a': {State: condition.Available, Granted: true}, 'A': {State: condition.Available}, 'o': {State: condition.Aborted}, 'u': {},
		}
		n := states[c]
		n.Name, n.Ready, n.Since = fmt.Sprintf("n%d", len(nodes)), ready, noon
		nodes = append(nodes, n)
		ready = true
	}
	return nodes
}

func limit(text string) *intstr.IntOrString {
	v := intstr.Parse(text)
	return &v
}

func TestMaxUnavailable(t *testing.T) {
	for _, c := range []struct {
		value string
		nodes int
		want  int
	}{
		{"", 5, 3}, {"50%", 1, 1}, {"50%", 5, 3}, {"10%", 5, 1}, {"100%", 7, 7}, {"0", 9, 1}, {"0%", 9, 1}, {"3", 9, 3}, {"30", 9, 30},
		{"many", 10, 5}, {"-2", 10, 5}, {"-10%", 10, 5}, {"50%", 0, 1},
	} {
		value := limit(c.value)
		if c.value == "" {
			value = nil
		}
		require.Equal(t, c.want, MaxUnavailable(value, c.nodes), "%q of %d", c.value, c.nodes)
	}
	text := intstr.FromString("2")
	require.Equal(t, 2, MaxUnavailable(&text, 10), "a number written as a string")
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		nodes string
		p     Policy
		phase nmstatev1.RolloutPhase
		grant []string
		abort []string
		adopt []string
		words string
	}{
		"the first half starts":          {nodes: "pppp", phase: "Rolling", grant: []string{"n0", "n1"}},
		"as many as are free":            {nodes: "xapp", phase: "Rolling", grant: []string{"n2"}},
		"a granted node counts":          {nodes: "ggpp", phase: "Rolling"},
		"a retrying node counts":         {nodes: "rrpp", phase: "Rolling"},
		"a failed node keeps its slot":   {nodes: "fxpp", phase: "Rolling"},
		"as many failures as allowed":    {nodes: "ffpp", phase: "Aborted", abort: []string{"n2", "n3"}, words: "failures on nodes n0, n1"},
		"after that newcomers abort too": {nodes: "fop", p: Policy{MaxUnavailable: limit("2")}, phase: "Aborted", abort: []string{"n2"}},
		"granted nodes are not aborted":  {nodes: "fgp", p: Policy{MaxUnavailable: limit("1")}, phase: "Aborted", abort: []string{"n2"}},
		"nodes that are not ready wait":  {nodes: "-ppp", phase: "Rolling", grant: []string{"n1", "n2"}},
		"and do not keep it from ending": {nodes: "-paa", phase: "Done"},
		"unless none is ready":           {nodes: "-p-p", phase: "Rolling", grant: []string{"n0"}},
		"a node without agent's report":  {nodes: "uaa", phase: "Rolling"},
		"all configured":                 {nodes: "aaa", phase: "Done"},
		"no nodes":                       {nodes: "", phase: "Done"},
		"what another agent configured":  {nodes: "AAp", phase: "Rolling", grant: []string{"n2"}, adopt: []string{"n0", "n1"}},
		"manual":                         {nodes: "pu", p: Policy{Manual: true, Generation: 3}, phase: "AwaitingApproval", words: "1 of 2 nodes"},
		"manual, approved":               {nodes: "pp", p: Policy{Manual: true, Approved: true}, phase: "Rolling", grant: []string{"n0"}},
		"paused":                         {nodes: "pp", p: Policy{Paused: true}, phase: "Paused", words: nmstatev1.PausedAnnotation},
		"paused by a failure": {nodes: "fpppp", p: Policy{PauseOnFailure: true, Generation: 7}, phase: "Paused",
			words: "a failure on node n0; to continue, set annotation lca.openshift.io/resumed-generation to 7"},
		"resumed":  {nodes: "fpppp", p: Policy{PauseOnFailure: true, Resumed: true}, phase: "Rolling", grant: []string{"n1", "n2"}},
		"reverted": {nodes: "pppu", p: Policy{Reverting: true, Manual: true, MaxUnavailable: limit("1")}, phase: "Reverting", grant: []string{"n0"}},
		"standby":  {nodes: "pA", p: Policy{Standby: "another"}, phase: "Standby", words: "another"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(c.p, fleet(c.nodes), noon)
			require.Equal(t, c.phase, d.Phase)
			require.Equal(t, c.grant, d.Grant)
			require.Equal(t, c.abort, d.Abort)
			require.Equal(t, c.adopt, d.Adopt)
			require.Contains(t, d.Message, c.words)
		})
	}
}

func TestCanaries(t *testing.T) {
	p := Policy{Canary: &nmstatev1.Canary{Count: new(int32(1))}, Soak: time.Minute}
	for name, c := range map[string]struct {
		nodes string
		now   time.Time
		phase nmstatev1.RolloutPhase
		grant []string
		abort []string
	}{
		"goes alone":            {"ppp", noon, "Canary", []string{"n0"}, nil},
		"is ready":              {"-ppp", noon, "Canary", []string{"n1"}, nil},
		"is waited for":         {"pxp", noon, "Canary", nil, nil},
		"soaks":                 {"pap", noon.Add(59 * time.Second), "Soaking", nil, nil},
		"is done":               {"pap", noon.Add(time.Minute), "Rolling", []string{"n0", "n2"}, nil},
		"is not ready any more": {"p-ap", noon.Add(time.Hour), "Paused", nil, nil},
		"failed":                {"fppp", noon, "Aborted", nil, []string{"n1", "n2", "n3"}},
		"later nodes go on":     {"xap", noon.Add(time.Second), "Rolling", []string{"n2"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(p, fleet(c.nodes), c.now)
			require.Equal(t, c.phase, d.Phase, d.Message)
			require.Equal(t, c.grant, d.Grant)
			require.Equal(t, c.abort, d.Abort)
		})
	}
	soaking := Decide(p, fleet("ap"), noon)
	require.Equal(t, noon.Add(time.Minute), soaking.Wake, "nothing else would wake it")
	nobody := Decide(Policy{Canary: &nmstatev1.Canary{Selector: map[string]string{"a": "b"}}}, fleet("pp"), noon)
	require.Equal(t, nmstatev1.PhasePaused, nobody.Phase)
	require.Empty(t, nobody.Grant)
}

func TestOutcome(t *testing.T) {
	for nodes, want := range map[string]string{
		"":      "Ignored: Policy does not match any node",
		"pp":    "Progressing: Policy is progressing 0/2 nodes finished, 2 pending",
		"xap":   "Progressing: Policy is progressing 1/3 nodes finished, 1 pending",
		"xa-p":  "Progressing: Policy is progressing 1/2 nodes finished, 1 pending, 1 nodes ignored due to NotReady state",
		"aa-u":  "Available: 2/3 nodes successfully configured",
		"aaa":   "Available: 3/3 nodes successfully configured",
		"fxp":   "Failed: 1/3 nodes failed to configure",
		"foo":   "Failed: 1/3 nodes failed to configure, 2 nodes aborted configuration",
		"-u-u":  "Progressing: Policy is progressing 0/0 nodes finished, 2 nodes ignored due to NotReady state",
		"ra-gp": "Progressing: Policy is progressing 1/4 nodes finished, 2 pending",
	} {
		state, message := Decide(Policy{}, fleet(nodes), noon).Counts.Outcome()
		require.Equal(t, want, string(state)+": "+message, nodes)
	}
}

// TestNeverMoreThanMaxUnavailable runs roll-outs with random outcomes to their end: at no time are more nodes changing or failed than
// may be, every roll-out ends, and a document that fails everywhere stops after that many nodes.
func TestNeverMoreThanMaxUnavailable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		p := Policy{MaxUnavailable: limit([]string{"1", "3", "50%", "10%"}[random.IntN(4)])}
		nodes, failing := fleet("pppppppppppp"[:1+random.IntN(12)]), random.IntN(3)
		bound := MaxUnavailable(p.MaxUnavailable, len(nodes))
		for step := 0; ; step++ {
			require.Less(t, step, 200, "it ends")
			d := Decide(p, nodes, noon)
			for i := range nodes {
				for _, name := range d.Grant {
					nodes[i].Granted = nodes[i].Granted || nodes[i].Name == name
				}
				for _, name := range d.Abort {
					if nodes[i].Name == name {
						require.False(t, nodes[i].Granted)
						nodes[i].State = condition.Aborted
					}
				}
			}
			holding := 0
			for _, n := range nodes {
				if n.holdsCapacity() {
					holding++
				}
			}
			require.LessOrEqual(t, holding, bound)
			if !advance(random, nodes, failing) {
				break
			}
		}
		failures := countNodes(p, nodes).Failed
		require.LessOrEqual(t, failures, bound)
		if failing == 2 {
			require.Equal(t, min(bound, len(nodes)), failures)
		}
	}
}

// advance finishes one granted node. Of failing 0 none fails, of 2 all.
func advance(random *rand.Rand, nodes []Node, failing int) bool {
	for i := range nodes {
		if !nodes[i].Granted || nodes[i].hasFinished() {
			continue
		}
		nodes[i].State = condition.Available
		if failing == 2 || failing == 1 && random.IntN(4) == 0 {
			nodes[i].State = condition.Failed
		}
		return true
	}
	return false
}
