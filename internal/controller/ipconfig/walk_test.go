package ipconfig

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// edge is a step from one state to another.
type edge struct{ from, to ipconfig.State }

// walk is a world that keeps account of the states it goes through, and holds each of them
// against the stage table, the API server and the page for people.
type walk struct {
	*world
	at      ipconfig.State
	seen    []ipconfig.State
	walked  map[edge]bool
	table   map[ipconfig.State]ipconfig.Stage
	page    map[ipconfig.State]string
	checked map[string]bool
}

// pass is Reconcile with the outcome in view.
func (k *walk) pass() (reconcile.Result, error) {
	ctx, r := k.t.Context(), k.r
	ipc, err := kind.Get(ctx, r.Reader)
	require.NoError(k.t, err)
	o, err := r.observeNode(ctx)
	require.NoError(k.t, err)
	if wrote, err := r.ensureObject(ctx, ipc, o); wrote || err != nil {
		return reconcile.Result{RequeueAfter: atOnce}, err
	}
	r.observeCluster(ctx, ipc, &o)
	require.NoError(k.t, r.consumeAnnotations(ctx, ipc))
	out, err := r.decideStep(ctx, ipc, o)
	require.NoError(k.t, err)
	require.NoError(k.t, r.reportStatus(ctx, ipc, o, out))
	k.saw(out)
	return reconcile.Result{RequeueAfter: out.again}, nil
}

func (k *walk) saw(out outcome) {
	k.t.Helper()
	if out.state != k.at {
		k.walked[edge{k.at, out.state}] = true
		require.Contains(k.t, k.table[k.at].Leads, out.state, "the table does not know that %s leads to %s", k.at, out.state)
	}
	k.at, k.seen = out.state, append(k.seen, out.state)
	ipc := k.get()
	if out.next != nil || k.checked[string(out.state)+string(ipc.Spec.Stage)] {
		return // next: the agent itself is about to restore a request
	}
	k.checked[string(out.state)+string(ipc.Spec.Stage)] = true
	row := k.table[out.state]
	require.Equal(k.t, fmt.Sprint(row.Next), fmt.Sprint(ipc.Status.ValidNextStages), "validNextStages in %s", out.state)
	require.Equal(k.t, tableRow(row), k.page[out.state], "docs/stages.md on %s: make generate", out.state)
	for _, stage := range []lcav1.IPConfigStage{lcav1.StageIdle, lcav1.StageConfig, lcav1.StageRollback} {
		want := stage == ipc.Spec.Stage || slices.Contains(row.Next, stage)
		asked := ipc.DeepCopy()
		asked.Spec.Stage = stage
		err := k.api.Update(k.t.Context(), asked, client.DryRunAll)
		require.Equal(k.t, want, err == nil, "in %s the API server says to stage %s: %v", out.state, stage, err)
		require.True(k.t, want || apierrors.IsInvalid(err), "%v", err)
	}
}

// tableRow is a row of the table as the page has it.
func tableRow(row ipconfig.Stage) string {
	next, ends := "nothing", map[bool]string{true: "yes", false: "no"}[row.Ends]
	if len(row.Next) > 0 {
		next = strings.Trim(strings.ReplaceAll(fmt.Sprint(row.Next), " ", ", "), "[]")
	}
	return fmt.Sprintf("| %s | %s | %s | %s |", row.State, next, ends, strings.Trim(strings.ReplaceAll(fmt.Sprint(row.Leads), " ", ", "), "[]"))
}

func readPage(t *testing.T) map[ipconfig.State]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "stages.md"))
	require.NoError(t, err)
	page := map[ipconfig.State]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, " | "); len(cells) == 4 {
			page[ipconfig.State(strings.TrimPrefix(cells[0], "| "))] = strings.TrimSpace(line)
		}
	}
	return page
}

// in goes to the new stateroot.
func (k *walk) in() ipconfig.Request {
	k.t.Helper()
	k.rest()
	k.change(toNewAddress)
	return k.arrive()
}

// arrive follows a request that was made into the new stateroot.
func (k *walk) arrive() ipconfig.Request {
	k.t.Helper()
	request, err := ipconfig.ReadRequest(k.node)
	require.NoError(k.t, err)
	k.pivot(request)
	k.rest()
	return request
}

// vanish removes the old stateroot by other hands.
func (k *walk) vanish() {
	k.node.deployments = slices.DeleteFunc(k.node.deployments, func(d host.Deployment) bool { return !d.Booted })
	k.rest()
}

// givenUp ends post-pivot for good without success, runs restarts it by hand.
func (k *walk) givenUp() {
	k.node.ends(ipconfig.UnitIPConfiguration, false)
	k.rest()
}

func (k *walk) runs() {
	k.node.units[ipconfig.UnitIPConfiguration] = host.UnitState{Load: "loaded", Active: "activating"}
	k.rest()
}

func (k *walk) completed() {
	k.postPivotDone()
	k.rest()
}

// end asks for Idle and has the cleanup succeed.
func (k *walk) end() {
	k.t.Helper()
	k.stage(lcav1.StageIdle)
	k.cleanedUp()
	requireLast(k.t, k.rest(), "Idle", yes, "Idle", "Idle")
	require.Equal(k.t, ipconfig.StateIdle, k.at)
}

// back boots the old stateroot, with the API as it was left.
func (k *walk) back(request ipconfig.Request, left *lcav1.IPConfig, cause string) {
	k.t.Helper()
	k.journalAt(operation.PivotedJournalPath(request.OperationID), ipconfig.FlowRollback,
		flow.Entry{Kind: flow.KindNote, Message: cause}, flow.Entry{Kind: flow.KindBegin, Total: 5})
	k.comeBack(request, left)
	k.rest()
}

// returned rolls back to a cluster that is not healthy.
func (k *walk) returned() {
	k.t.Helper()
	k.rest()
	left := k.change(toNewAddress)
	request := k.arrive()
	k.completed()
	k.stage(lcav1.StageRollback)
	k.operatorDegraded(true)
	k.back(request, left, ipconfig.CauseRequested)
}

// walks are the ways through the table; each begins with a new cluster and ends Idle.
func walks() map[string]func(*walk) {
	return map[string]func(*walk){
		"kept":                            func(k *walk) { k.in(); k.completed(); k.end() },
		"kept, and nothing to go back to": func(k *walk) { k.in(); k.completed(); k.vanish(); k.end() },
		"completed without rollback":      func(k *walk) { k.in(); k.vanish(); k.completed(); k.end() },
		"accepted as it is":               func(k *walk) { k.in(); k.vanish(); k.end() },
		"nothing to do": func(k *walk) {
			k.rest()
			k.change(func(ipc *lcav1.IPConfig) {
				ipc.Spec.Stage, ipc.Spec.IPv4 = lcav1.StageConfig, &lcav1.IPv4Config{Address: "192.0.2.10", MachineNetwork: "192.0.2.0/24", Gateway: "192.0.2.1"}
			})
			k.end()
		},
		"aborted": func(k *walk) { k.rest(); k.change(toNewAddress); k.end() },
		"not prepared": func(k *walk) {
			k.rest()
			k.change(toNewAddress)
			k.journal(ipconfig.FlowPrePivot, flow.Entry{Kind: flow.KindBegin, Total: 3}, flow.Entry{Kind: flow.KindRolledBack})
			k.node.ends(ipconfig.UnitPrePivot, false)
			k.rest()
			k.end()
		},
		"gone back by itself": func(k *walk) {
			k.rest()
			left := k.change(toNewAddress)
			request := k.arrive()
			k.back(request, left, "automatic rollback: no DNS")
			k.end()
		},
		"rolled back": func(k *walk) {
			k.rest()
			left := k.change(toNewAddress)
			request := k.arrive()
			k.completed()
			k.stage(lcav1.StageRollback)
			k.back(request, left, ipconfig.CauseRequested)
			k.end()
		},
		"rolled back to a cluster that recovers": func(k *walk) { k.returned(); k.operatorDegraded(false); k.rest(); k.end() },
		"rolled back to a cluster that does not": func(k *walk) {
			k.returned()
			k.stage(lcav1.StageIdle)
			k.operatorDegraded(false)
			k.rest()
			k.end()
		},
		"rollback that fails, asked for before completion": func(k *walk) {
			k.in()
			k.stage(lcav1.StageRollback)
			k.node.ends(ipconfig.UnitRollback, false)
			k.reconcile() // it is tried again at once
			k.reconcile()
			k.node.ends(ipconfig.UnitRollback, false)
			k.reconcile() // and later
			k.end()
		},
		"given up, mended by hand, given up, rolled back": func(k *walk) {
			k.in()
			k.givenUp()
			k.runs()
			k.givenUp()
			k.stage(lcav1.StageRollback)
			k.vanish()
			k.end()
		},
		"given up without rollback": func(k *walk) {
			k.in()
			k.givenUp()
			k.vanish()
			k.runs()
			k.givenUp()
			k.end()
		},
		"rollback that fails, and its stateroot vanishes": func(k *walk) {
			k.in()
			k.completed()
			k.stage(lcav1.StageRollback)
			k.node.ends(ipconfig.UnitRollback, false)
			k.reconcile()
			k.node.ends(ipconfig.UnitRollback, false)
			k.vanish()
			k.end()
		},
		"blocked by an upgrade": func(k *walk) {
			other := newUpgrade(k.world)
			other.begin()
			k.rest()
			k.operatorDegraded(true)
			other.end()
			k.rest()
			other.begin()
			k.rest()
			k.operatorDegraded(false)
			other.end()
			k.rest()
			other.begin()
			k.change(toNewAddress)
			other.end()
			k.rest()
			k.end()
		},
	}
}

// TestNoDeadEnds walks the whole stage table on a real API server. In every state validNextStages, the rules of the API
// server and docs/stages.md say the same; every step that the table has is walked, no other is; and from each
// state the steps that were walked lead to Idle, from where the next change can be asked for.
func TestNoDeadEnds(t *testing.T) {
	shared.Server(t)
	table, walked, checked := map[ipconfig.State]ipconfig.Stage{}, map[edge]bool{}, map[string]bool{}
	for _, row := range ipconfig.Stages() {
		table[row.State] = row
	}
	page := readPage(t)
	all := walks()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			k := &walk{world: newWorld(t), at: ipconfig.StateNew, walked: walked, table: table, page: page, checked: checked}
			k.world.pass = k.pass
			all[name](k)
			k.seen = nil
			k.change(toNewAddress)
			require.Contains(t, k.seen, ipconfig.StatePreparing, "it can be changed again")
		})
	}
	if t.Failed() {
		return
	}
	if len(walked) == 0 {
		t.Skip("reason: no walk could be made, as those above say")
	}
	for _, row := range ipconfig.Stages() {
		for _, next := range row.Leads {
			require.True(t, walked[edge{row.State, next}], "no walk leads from %s to %s", row.State, next)
		}
		require.True(t, leads(walked, row.State, ipconfig.StateIdle, nil), "%s is a dead end", row.State)
	}
	t.Logf("%d states, %d steps between them, %d answers of the API server to each of three requests", len(table), len(walked), len(checked))
}

func leads(walked map[edge]bool, from, to ipconfig.State, seen []ipconfig.State) bool {
	if from == to {
		return true
	}
	for e := range walked {
		if e.from == from && !slices.Contains(seen, e.to) && leads(walked, e.to, to, append(seen, from)) {
			return true
		}
	}
	return false
}
