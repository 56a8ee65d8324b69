package netenactment

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// behindCache is a cache that has the enactments of an earlier moment, and everything else as it is.
type behindCache struct {
	client.Reader
	old []nmstatev1beta1.NodeNetworkConfigurationEnactment
}

func (c behindCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if enactments, ok := list.(*nmstatev1beta1.NodeNetworkConfigurationEnactmentList); ok {
		enactments.Items = slices.Clone(c.old)
		return nil
	}
	return c.Reader.List(ctx, list, options...)
}

// behind has the agent's cache stand still, and counts what the agent asks to be written of enactments from here on.
func (w *world) behind() (writes *[]string) {
	w.t.Helper()
	var now nmstatev1beta1.NodeNetworkConfigurationEnactmentList
	require.NoError(w.t, w.server.Client.List(w.t.Context(), &now))
	w.r.Cache = behindCache{Reader: w.server.Client, old: now.Items}
	writes = &[]string{}
	note := func(verb string, o client.Object) {
		if _, ok := o.(*nmstatev1beta1.NodeNetworkConfigurationEnactment); ok {
			*writes = append(*writes, verb+" "+o.GetName())
		}
	}
	server, err := client.NewWithWatch(w.server.Config, client.Options{Scheme: w.server.Scheme})
	require.NoError(w.t, err)
	w.r.Client = interceptor.NewClient(server, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			note("create", o)
			return c.Create(ctx, o, options...)
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
	require.Empty(t, w.r.latest.written, "the cache has it all")
}

// An enactment that another client deletes before the cache had it is made anew when the own write has lost its weight.
func TestAnEnactmentThatWasDeletedComesBack(t *testing.T) {
	w := newWorld(t)
	writes := w.behind()
	w.policy("mtu", mtu1400, nil)
	w.pass()
	require.NoError(t, w.server.Client.Delete(t.Context(), w.enactment("mtu")))
	w.pass()
	require.Nil(t, w.enactment("mtu"))
	w.now = w.now.Add(latestHolds)
	w.pass()
	require.Equal(t, condition.Pending, w.state("mtu"))
	require.Len(t, *writes, 4)
}

// One of the same name that is another one counts at once.
func TestAnotherEnactmentOfTheNameIsNoOlderOne(t *testing.T) {
	w := newWorld(t)
	w.policy("mtu", mtu1400, nil)
	w.pass()
	first := w.enactment("mtu")
	w.r.latest.wrote(first, w.now)
	other := first.DeepCopy()
	other.UID, other.ResourceVersion = "another", "1"
	got := w.r.latest.over([]nmstatev1beta1.NodeNetworkConfigurationEnactment{*other}, w.now)
	require.Len(t, got, 1)
	require.Equal(t, other.UID, got[0].UID)
	require.Empty(t, w.r.latest.written)
}

// The agent deletes what its policy does not need any more; a cache that still has it does not bring it back.
func TestADeletedEnactmentStaysAway(t *testing.T) {
	w := newWorld(t)
	p := w.policy("mtu", mtu1400, nil)
	w.pass()
	require.NoError(t, w.server.Client.Delete(t.Context(), p))
	w.behind()
	w.passes(2)
	require.Nil(t, w.enactment("mtu"))
	require.Empty(t, w.r.latest.written)
}
