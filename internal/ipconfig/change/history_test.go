package change_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/snapshot"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// history is a node on which operations of all kinds follow each other, beside a model of what is true on it.
type history struct {
	*world
	draw  *rand.Rand
	story []string
	// sites is the address of each stateroot that is there to stay: originals and copies. What a change makes is one of them.
	sites map[string]site
	// pending is the change that made the running stateroot, until a cleanup; nil where there is none.
	pending *pendingChange
	names   int
}

// pendingChange is a change that can be rolled back.
type pendingChange struct {
	back      host.Deployment
	confirmed bool
}

// TestWhateverHappenedTheNodeKnowsWhereItIs draws histories of a node: changes that are kept, rolled back and fail, copies,
// policies, stateroots of other operations, updates, power cuts, and losses of what is on record. After each event a node at
// rest is at rest, and one with an unfinished change knows the deployment it came from.
func TestWhateverHappenedTheNodeKnowsWhereItIs(t *testing.T) {
	histories := uint64(60)
	if testing.Short() {
		histories = 8
	}
	for seed := range histories {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHistory(t, seed)
			for range 16 {
				h.happen()
				h.judge()
			}
			h.settleDown()
		})
	}
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{world: newWorld(t).stands(), draw: rand.New(rand.NewPCG(seed, 0)), sites: map[string]site{oldStateroot: oldSite}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(strings.Join(h.story, "\n"), h.node.Failures())
		}
	})
	return h
}

// event is one thing that can happen; possible is nil for what can always.
type event struct {
	name     string
	possible func() bool
	do       func()
}

func (h *history) events() []event {
	atRest := func() bool { return h.pending == nil }
	changed := func() bool { return h.pending != nil }
	quiet := func() bool { return h.pending == nil || h.pending.confirmed }
	return []event{
		{"change", atRest, func() { h.change(false) }},
		{"change", atRest, func() { h.change(false) }},
		{"change that fails", atRest, func() { h.change(true) }},
		{"refused change", atRest, h.refused},
		{"confirm", changed, h.confirmed},
		{"roll back", changed, h.goBack},
		{"idle", nil, h.idle},
		{"copy", quiet, h.copied},
		{"stateroot of another operation", atRest, h.other},
		{"boot another stateroot by hand", atRest, h.bootAnother},
		{"policies", quiet, h.policies},
		{"update of the old stateroot", changed, h.update},
		{"power cut", nil, h.cut},
		{"lose " + host.StateDir, nil, func() { h.lose(host.StateDir) }},
		{"lose /etc/lifecycle-agent", nil, func() { h.lose("/etc/lifecycle-agent") }},
		{"lose all journals", nil, func() { h.lose(operation.JournalDir) }},
		{"lose a line of each journal", nil, h.loseLines},
	}
}

func (h *history) happen() {
	all := slices.DeleteFunc(h.events(), func(e event) bool { return e.possible != nil && !e.possible() })
	e := all[h.draw.IntN(len(all))]
	h.story = append(h.story, fmt.Sprintf("%s: %s", h.booted().Stateroot, e.name))
	e.do()
}

func (h *history) booted() host.Deployment {
	h.t.Helper()
	d, err := host.Booted(h.deployed())
	require.NoError(h.t, err)
	return d
}

func (h *history) deployed() []host.Deployment {
	h.t.Helper()
	all, err := h.node.Deployments().List(h.t.Context())
	require.NoError(h.t, err)
	return all
}

// run does something on the node and lets it come to rest.
func (h *history) run(what func(context.Context) error) {
	h.t.Helper()
	err := h.node.Run(h.t.Context(), what)
	if err != nil && !errors.Is(err, hosttest.Rebooted) && !errors.Is(err, hosttest.PowerCut) {
		require.NoError(h.t, err)
	}
	require.NoError(h.t, h.node.Settle(h.t.Context(), maxBoots))
}

// change asks for another address; a change that fails comes back by itself.
func (h *history) change(fails bool) {
	h.ended()
	from, here := h.sites[h.booted().Stateroot], h.booted()
	others := slices.DeleteFunc([]site{oldSite, newSite, farSite}, func(s site) bool { return s == from })
	to := others[h.draw.IntN(len(others))]
	if fails {
		h.recert = brokenRecert{}
		defer func() { h.recert = h.node.FakeRecert() }()
	}
	h.run(func(ctx context.Context) error { return h.ask(ctx, to, from) })
	if fails {
		require.Equal(h.t, here.ID(), h.booted().ID(), "%v", h.node.Failures())
		return
	}
	require.NotEqual(h.t, here.Stateroot, h.booted().Stateroot, "%v", h.node.Failures())
	h.sites[h.booted().Stateroot] = to
	h.pending = &pendingChange{back: here}
}

// refused has pre-pivot refuse the request before it makes anything.
func (h *history) refused() {
	h.ended()
	h.apart = []string{host.EtcdData}
	defer func() { h.apart = nil }()
	from := h.sites[h.booted().Stateroot]
	h.run(func(ctx context.Context) error { return h.ask(ctx, farSite, from) })
}

// confirmed is what the agent does when the cluster is healthy, also where the request is lost.
func (h *history) confirmed() {
	h.pending.confirmed = true
	ctx, now := h.t.Context(), h.clock.Now()
	r, _, err := ipconfig.FindRequest(h.node.Files(), h.deployed())
	require.NoError(h.t, err)
	require.NoError(h.t, ipconfig.WriteHealth(h.node.Files(), ipconfig.Health{OperationID: r.OperationID, Healthy: true}))
	require.NoError(h.t, h.node.Units().Stop(ctx, ipconfig.UnitInitMonitor))
	require.NoError(h.t, h.node.Units().Disable(ctx, ipconfig.UnitInitMonitor))
	back, ok := stateroot.Back(h.node.Files(), r.OldStateroot)(h.deployed())
	require.True(h.t, ok)
	require.NoError(h.t, operation.Confirm(h.node.Files(), h.booted(), r.Made(operation.NameOf(back), now), now))
}

func (h *history) goBack() {
	left := h.booted().Stateroot
	h.run(func(ctx context.Context) error {
		o, err := h.open(ctx)
		if err != nil {
			return err
		}
		return o.RollBack(ctx, "", ipconfig.CauseRequested)
	})
	require.Equal(h.t, h.pending.back.ID(), h.booted().ID(), "it is the deployment that ran")
	require.Equal(h.t, h.pending.back.Stateroot, h.booted().Stateroot)
	delete(h.sites, left)
	h.pending = nil
}

// idle is what the agent does: it rolls back what was not confirmed, then cleans up.
func (h *history) idle() {
	if h.pending != nil && !h.pending.confirmed {
		h.goBack()
	}
	h.run(func(ctx context.Context) error {
		o, err := h.open(ctx)
		if errors.Is(err, ipconfig.ErrNoRequest) {
			return change.CleanUpBare(ctx, h.ports())
		}
		if err != nil {
			return err
		}
		return o.CleanUp(ctx)
	})
	if h.pending != nil {
		delete(h.sites, h.pending.back.Stateroot)
		h.pending = nil
	}
	_, _, err := ipconfig.FindRequest(h.node.Files(), h.deployed())
	require.ErrorIs(h.t, err, ipconfig.ErrNoRequest)
	for name := range h.node.Describe().Stateroots {
		if strings.HasPrefix(name, ipconfig.StaterootPrefix) {
			require.Contains(h.t, h.sites, name, "it is a leftover")
		}
	}
}

// ended cleans up after a change that came back, as the agent does before it takes another request.
func (h *history) ended() {
	if _, _, err := ipconfig.FindRequest(h.node.Files(), h.deployed()); err == nil {
		h.idle()
	}
}

func (h *history) name(prefix string) string {
	h.names++
	return fmt.Sprintf("%s%d", prefix, h.names)
}

func (h *history) copied() {
	name := h.name("copy-")
	ports := snapshot.Ports{Node: h.node.Ports(), Clock: h.clock, Log: h.log}
	h.run(func(ctx context.Context) error {
		if _, err := snapshot.Prepare(ctx, ports, h.id(), name); err != nil {
			return err
		}
		return snapshot.Run(ctx, ports, operation.Instruments{})
	})
	h.sites[name] = h.sites[h.booted().Stateroot]
}

// id names an operation that is newer than those of the changes.
func (h *history) id() string {
	h.ops++
	return operation.NewID(h.clock.now.AddDate(0, 0, h.ops), uint16(h.ops))
}

// other makes a stateroot as a restore or a preparation does. It is never this product's to remove.
func (h *history) other() {
	name := h.name("rhcos_site-")
	d, err := h.node.Deployments().Clone(h.t.Context(), name)
	require.NoError(h.t, err)
	require.NoError(h.t, operation.WriteStateroot(h.node.Files(), d,
		operation.Stateroot{MadeBy: "seed-restore", Operation: h.id(), WayBack: operation.NameOf(h.booted())}))
	h.sites[name] = site{}
}

// bootAnother boots an original or a copy, as a person does in the boot menu.
func (h *history) bootAnother() {
	h.ended()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(h.sites)), func(name string) bool { return h.sites[name] == site{} })
	h.run(func(ctx context.Context) error {
		if err := h.node.Deployments().SetDefault(ctx, names[h.draw.IntN(len(names))]); err != nil {
			return err
		}
		return h.node.Power().Reboot(ctx, "by hand")
	})
}

// policies are eleven enactments: more than are kept of them.
func (h *history) policies() {
	ports := netpolicy.Ports{Node: h.node.Ports(), Clock: h.clock, Log: h.log}
	before := journalsOfChanges(h)
	h.run(func(ctx context.Context) error {
		for range 11 {
			r := netpolicy.Request{Action: netpolicy.ActionApply, Policy: "storage", UID: "u1", Generation: 1, Attempt: 1,
				OperationID: h.id(), Document: `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up"}]}`}
			if err := netpolicy.Prepare(ctx, operation.Intake{Files: h.node.Files(), Boots: h.node.Power(), Log: slog.New(slog.DiscardHandler)}, r); err != nil {
				return err
			}
			if err := netpolicy.Run(ctx, ports, operation.Instruments{}); err != nil {
				return err
			}
		}
		return nil
	})
	require.Equal(h.t, before, journalsOfChanges(h))
}

func journalsOfChanges(h *history) (ids []string) {
	h.t.Helper()
	all, err := operation.List(h.node.Files())
	require.NoError(h.t, err)
	for _, id := range all {
		entries, err := operation.ReadEntries(h.node.Files(), id)
		require.NoError(h.t, err)
		if len(entries) > 0 && slices.Contains(ipconfig.Flows(), entries[0].Flow) {
			ids = append(ids, id)
		}
	}
	return ids
}

// update deploys one of the operating system into the old stateroot, which nobody has booted.
func (h *history) update() {
	_, err := h.node.Pending(h.pending.back.Stateroot, h.pending.back.Checksum)
	require.NoError(h.t, err)
}

func (h *history) cut() {
	h.node.Cut()
	require.NoError(h.t, h.node.Settle(h.t.Context(), maxBoots))
}

func (h *history) lose(dir string) { require.NoError(h.t, h.node.Files().Remove(dir)) }

func (h *history) loseLines() {
	names, err := h.node.Files().List(operation.JournalDir)
	require.NoError(h.t, err)
	for _, name := range names {
		file := path.Join(operation.JournalDir, name)
		data, err := h.node.Files().Read(file)
		require.NoError(h.t, err)
		lines := strings.SplitAfter(string(data), "\n")
		lost := h.draw.IntN(len(lines))
		text := strings.Join(slices.Delete(lines, lost, lost+1), "")
		require.NoError(h.t, h.node.Files().Write(file, []byte(text), 0o600))
	}
}

// judge compares the node with the model.
func (h *history) judge() {
	t, d := h.t, h.node.Describe()
	t.Helper()
	require.NoError(t, h.node.ClusterUp())
	require.Equal(t, []string{h.sites[d.Booted].address}, d.Stateroots[d.Booted].Keystore)
	for name := range h.sites {
		require.True(t, d.Stateroots[name].Deployed, "stateroot %s is lost", name)
	}
	r, _, err := ipconfig.FindRequest(h.node.Files(), h.deployed())
	held := h.held()
	if h.pending == nil {
		if err == nil { // a change that came back, which Idle ends; until then its journal says what is held
			require.Equal(t, d.Booted, r.OldStateroot)
			_, statErr := h.node.Files().Stat(ipconfig.RequestFile)
			require.NotErrorIs(t, statErr, fs.ErrNotExist)
			return
		}
		require.ErrorIs(t, err, ipconfig.ErrNoRequest)
		require.Empty(t, held, "a node at rest holds nothing")
		return
	}
	require.NoError(t, err)
	require.NoError(t, ipconfig.EnsureRecord(h.node.Files(), h.deployed(), r, h.clock.Now()), "the agent does so")
	require.Equal(t, h.pending.back.Stateroot, r.OldStateroot)
	require.Equal(t, d.Booted, r.NewStateroot)
	back, err := stateroot.WayBack(t.Context(), h.node.Files(), h.node.Deployments(), r.OldStateroot)
	require.NoError(t, err)
	require.Equal(t, h.pending.back.ID(), back.ID())
	if h.pending.confirmed {
		require.Empty(t, held, "the change is complete")
	} else {
		require.NotEmpty(t, held, "the change is not proved")
	}
}

// held is how the change keeps others off; empty where it does not.
func (h *history) held() string {
	holder, found, err := change.Reservation(h.ports()).Unfinished(h.t.Context())
	require.NoError(h.t, err)
	if !found {
		return ""
	}
	require.NotContains(h.t, holder.String(), "0001-01-01")
	return holder.String()
}

// settleDown brings the node to rest, and changes it once more.
func (h *history) settleDown() {
	for _, e := range []event{{"idle", nil, h.idle}, {"change", nil, func() { h.change(false) }}, {"roll back", nil, h.goBack}, {"idle", nil, h.idle}} {
		h.story = append(h.story, "at last: "+e.name)
		e.do()
		h.judge()
	}
}
