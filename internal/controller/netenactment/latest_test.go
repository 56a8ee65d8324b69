package netenactment

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/latest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// behindCache is a cache that has the enactments of an earlier moment, and everything else as it is.
type behindCache struct {
	client.Reader
	old []enactment
}

func (c behindCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if enactments, ok := list.(*nmstatev1beta1.NodeNetworkConfigurationEnactmentList); ok {
		enactments.Items = slices.Clone(c.old)
		return nil
	}
	return c.Reader.List(ctx, list, options...)
}

func (w *world) enactments() []enactment {
	w.t.Helper()
	var now nmstatev1beta1.NodeNetworkConfigurationEnactmentList
	require.NoError(w.t, w.server.Client.List(w.t.Context(), &now))
	return now.Items
}

// behind has the agent's cache stand still, and counts what the agent asks to be written of enactments from here on.
func (w *world) behind() (writes *[]string) {
	w.t.Helper()
	return w.behindAt(w.enactments())
}

// behindAt is behind with the enactments of an earlier moment.
func (w *world) behindAt(old []enactment) (writes *[]string) {
	w.t.Helper()
	w.r.Cache = behindCache{Reader: w.server.Client, old: old}
	writes = &[]string{}
	note := func(verb string, o client.Object) {
		if _, ok := o.(*enactment); ok {
			*writes = append(*writes, verb+" "+o.GetName())
		}
	}
	w.r.Client = interceptor.NewClient(w.server.Client, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			note("create", o)
			return c.Create(ctx, o, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			note("delete", o)
			return c.Delete(ctx, o, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			options ...client.SubResourcePatchOption) error {
			note("patch", o)
			return c.SubResource(sub).Patch(ctx, o, p, options...)
		},
	})
	return writes
}

func TestAnEnactmentIsCreatedOnceForACacheThatIsBehind(t *testing.T) {
	w := newWorld(t)
	writes := w.behind()
	w.policy("mtu", mtu1400, nil)
	w.passes(3)
	require.Equal(t, []string{"create node-a.mtu", "patch node-a.mtu"}, *writes)
	require.Equal(t, condition.Pending, w.state("mtu"))
}

func TestAWriteIsNotRepeatedForACacheThatIsBehind(t *testing.T) {
	w := newWorld(t)
	p := w.policy("mtu", mtu1400, nil)
	w.pass()
	w.grant(p)
	writes := w.behind()
	w.passes(5)
	require.Equal(t, []string{"patch node-a.mtu", "patch node-a.mtu"}, *writes, "it progresses, and is in force")
	require.Equal(t, condition.Available, w.state("mtu"))
}

// The grant is a write of the operator, which is newer than the agent's last one.
func TestACacheThatIsAheadOfTheOwnWritesIsBelieved(t *testing.T) {
	w := newWorld(t)
	p := w.policy("mtu", mtu1400, nil)
	w.pass()
	w.grant(p)
	w.passes(3)
	require.Equal(t, condition.Available, w.state("mtu"))
	require.Zero(t, w.r.latest.Len(), "the cache has it all")
}

// A new process has written nothing yet: it learns from the refusal.
func TestARefusedWriteIsNotRepeatedForACacheThatIsBehind(t *testing.T) {
	t.Run("of a status", func(t *testing.T) {
		w := newWorld(t)
		p := w.policy("mtu", mtu1400, nil)
		w.pass()
		w.grant(p)
		granted := w.enactments()
		w.passes(2)
		w.r = w.reconciler(nil)
		writes := w.behindAt(granted)
		w.passes(5)
		require.Equal(t, []string{"patch node-a.mtu"}, *writes)
		require.Equal(t, condition.Available, w.state("mtu"))
	})
	t.Run("of a new enactment", func(t *testing.T) {
		w := newWorld(t)
		w.policy("mtu", mtu1400, nil)
		none := w.enactments()
		w.pass()
		w.r = w.reconciler(nil)
		writes := w.behindAt(none)
		w.passes(5)
		require.Equal(t, []string{"create node-a.mtu"}, *writes)
	})
	t.Run("of one that is gone", func(t *testing.T) {
		shared.Server(t)
		w := newWorld(t)
		p := w.policy("mtu", mtu1400, nil)
		w.pass()
		w.grant(p)
		granted := w.enactments()
		require.NoError(t, w.server.Client.Delete(t.Context(), w.enactment("mtu")))
		writes := w.behindAt(granted)
		w.passes(5)
		require.Equal(t, condition.Available, w.state("mtu"))
		require.Equal(t, []string{"patch node-a.mtu", "create node-a.mtu", "patch node-a.mtu"}, *writes,
			"the grant of the one that is gone began it")
	})
}

// An enactment that another client deletes before the cache had it is made anew when the own write has lost its weight.
func TestAnEnactmentThatWasDeletedComesBack(t *testing.T) {
	w := newWorld(t)
	writes := w.behind()
	w.policy("mtu", mtu1400, nil)
	w.pass()
	require.NoError(t, w.server.Client.Delete(t.Context(), w.enactment("mtu")))
	began := w.now
	for w.enactment("mtu") == nil { // no event may come
		wait := w.pass().RequeueAfter
		require.Positive(t, wait)
		w.now = w.now.Add(wait)
	}
	require.InDelta(t, latest.Validity, w.now.Sub(began), float64(90*time.Second))
	require.Equal(t, condition.Pending, w.state("mtu"))
	require.Len(t, *writes, 4)
}

// What another client wrote meanwhile is learned then, too.
func TestAGrantReachesAnAgentWhoseCacheStandsStill(t *testing.T) {
	w := newWorld(t)
	p := w.policy("mtu", mtu1400, nil)
	w.behind()
	w.pass()
	w.grant(p)
	w.pass()
	require.Equal(t, condition.Pending, w.state("mtu"))
	w.now = w.now.Add(latest.Validity)
	w.passes(3)
	require.Equal(t, condition.Available, w.state("mtu"))
}

// One of the same name that was made later is another one, and counts at once.
func TestALaterEnactmentOfTheNameIsBelieved(t *testing.T) {
	shared.Server(t) // in memory, resource versions count for each object alone
	w := newWorld(t)
	w.policy("mtu", mtu1400, nil)
	w.pass()
	first := w.enactment("mtu")
	require.NoError(t, w.server.Client.Delete(t.Context(), first))
	w.r = w.reconciler(nil)
	w.pass()
	second := w.enactment("mtu")
	var l latest.Objects[enactment, *enactment]
	l.Keep(first, w.now)
	got, err := l.Correct(t.Context(), []enactment{*second}, w.server.Client, w.now)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, second.UID, got[0].UID)
	require.Zero(t, l.Len())
	l.Keep(second, w.now)
	got, err = l.Correct(t.Context(), []enactment{*first}, w.server.Client, w.now)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, second.UID, got[0].UID, "and a cache that still has the earlier one is not")
}

// The agent deletes what its policy does not need any more, once; a cache that still has it does not bring it back.
func TestADeletedEnactmentStaysAway(t *testing.T) {
	w := newWorld(t)
	p := w.policy("mtu", mtu1400, nil)
	w.pass()
	require.NoError(t, w.server.Client.Delete(t.Context(), p))
	writes := w.behind()
	w.passes(3)
	require.Nil(t, w.enactment("mtu"))
	require.Equal(t, []string{"delete node-a.mtu"}, *writes)
	w.now = w.now.Add(latest.Validity)
	w.passes(2)
	require.Equal(t, []string{"delete node-a.mtu"}, *writes)
}
