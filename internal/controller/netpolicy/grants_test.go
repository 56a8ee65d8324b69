package netpolicy

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// stage is an API server with nodes whose agents do nothing more than wait for grants, for operators that are driven by hand.
type stage struct {
	*world
	// lists counts the enactments that were listed past a cache; lost makes the answers to grants get lost.
	lists atomic.Int32
	lost  atomic.Bool
}

func newStage(t *testing.T, nodes int) *stage {
	t.Helper()
	s := &stage{world: bareWorld(t)}
	for i := range nodes {
		s.addNode(s.node(i))
	}
	return s
}

// waits makes the enactments of a policy on every node, as agents do.
func (s *stage) waits(p *nmstatev1.NodeNetworkConfigurationPolicy, nodes int) {
	s.t.Helper()
	for i := range nodes {
		e := &v1beta1.NodeNetworkConfigurationEnactment{ObjectMeta: metav1.ObjectMeta{Name: v1beta1.EnactmentName(s.node(i), p.Name),
			Labels: map[string]string{nmstatev1.PolicyLabel: p.Name, nmstatev1.NodeLabel: s.node(i)}}}
		require.NoError(s.t, s.api.Create(s.t.Context(), e))
		before := e.DeepCopy()
		e.Status.PolicyGeneration = p.Generation
		e.Status.Conditions = condition.SetEnactment(nil, condition.Pending, condition.MessagePending, time.Now())
		require.NoError(s.t, s.api.Status().Patch(s.t.Context(), e, client.MergeFrom(before)))
		s.t.Cleanup(func() { _ = s.api.Delete(context.Background(), e) })
	}
}

// operator is one whose cache of enactments stands still from now on.
func (s *stage) operator() *Reconciler {
	s.t.Helper()
	var cached v1beta1.NodeNetworkConfigurationEnactmentList
	require.NoError(s.t, s.api.List(s.t.Context(), &cached))
	return s.operatorBehind(cached.Items)
}

// operatorBehind is one whose cache has these enactments.
func (s *stage) operatorBehind(cached []v1beta1.NodeNetworkConfigurationEnactment) *Reconciler {
	s.t.Helper()
	behind := interceptor.NewClient(s.server.Client, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			found, ok := list.(*v1beta1.NodeNetworkConfigurationEnactmentList)
			if !ok {
				return c.List(ctx, list, options...)
			}
			o := (&client.ListOptions{}).ApplyOptions(options)
			policy, _ := o.FieldSelector.RequiresExactMatch(byPolicy)
			for _, e := range cached {
				if e.Labels[nmstatev1.PolicyLabel] == policy {
					found.Items = append(found.Items, *e.DeepCopy())
				}
			}
			return nil
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			err := c.Patch(ctx, o, p, options...)
			if _, ok := o.(*v1beta1.NodeNetworkConfigurationEnactment); ok && err == nil && s.lost.Load() {
				return apierrors.NewTimeoutError("the answer was lost", 1)
			}
			return err
		},
	})
	reader := interceptor.NewClient(s.server.Client, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			_, whole := list.(*v1beta1.NodeNetworkConfigurationEnactmentList)
			if whole || list.GetObjectKind().GroupVersionKind().Kind == "NodeNetworkConfigurationEnactmentList" {
				s.lists.Add(1)
			}
			return c.List(ctx, list, options...)
		},
	})
	metrics, err := NewMetrics(prometheus.NewRegistry())
	require.NoError(s.t, err)
	return New(Options{Client: behind, Reader: reader, Events: s.events, Log: slog.New(slog.DiscardHandler), Metrics: metrics, Now: time.Now})
}

func (s *stage) step(r *Reconciler, p *nmstatev1.NodeNetworkConfigurationPolicy) error {
	s.t.Helper()
	_, err := r.Reconcile(s.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)})
	return err
}

// granted are the nodes that may start, as the API server has it.
func (s *stage) granted(p *nmstatev1.NodeNetworkConfigurationPolicy) (nodes []string) {
	s.t.Helper()
	var list v1beta1.NodeNetworkConfigurationEnactmentList
	require.NoError(s.t, s.api.List(s.t.Context(), &list, client.MatchingLabels{nmstatev1.PolicyLabel: p.Name}))
	for i := range list.Items {
		if v1beta1.Granted(&list.Items[i], s.get(p)) {
			nodes = append(nodes, list.Items[i].Labels[nmstatev1.NodeLabel])
		}
	}
	slices.Sort(nodes)
	return nodes
}

// An operator that takes over has a cache that may be of before the grants of the one that led: it grants no other node in their place.
func TestTheGrantsOfTheFormerLeaderCount(t *testing.T) {
	s := newStage(t, 3)
	p := s.policy("p", "maxUnavailable: 1\n"+document)
	s.waits(p, 3)
	first, second := s.operator(), s.operator()
	require.NoError(t, s.step(first, p))
	before := s.granted(p)
	require.Len(t, before, 1)
	for range 3 {
		require.NoError(t, s.step(second, p))
		require.Equal(t, before, s.granted(p))
	}
}

// Its cache may not have these enactments at all.
func TestTheGrantsOfTheFormerLeaderCountWhereTheCacheLacksThem(t *testing.T) {
	s := newStage(t, 3)
	p := s.policy("p", "maxUnavailable: 1\n"+document)
	s.waits(p, 1)
	first := s.operator()
	late := s.operatorBehind(nil)
	require.NoError(t, s.step(first, p))
	before := s.granted(p)
	require.Equal(t, []string{s.node(0)}, before)
	all, err := late.enactmentsOf(t.Context(), p)
	require.NoError(t, err)
	require.Empty(t, all)
	require.NoError(t, late.pruneState(t.Context()))
	all, err = late.enactmentsOf(t.Context(), p)
	require.NoError(t, err)
	require.Contains(t, all, s.node(0))

	require.NoError(t, s.api.Delete(t.Context(), all[s.node(0)].DeepCopy()))
	all, err = late.enactmentsOf(t.Context(), p)
	require.NoError(t, err)
	require.Empty(t, all, "it is gone")
}

// However many policies there are: such a list has the API server go through the enactments of all nodes and policies.
func TestEnactmentsAreListedPastTheCacheOnceForAllPolicies(t *testing.T) {
	shared.Server(t)
	s := newStage(t, 2)
	var all []*nmstatev1.NodeNetworkConfigurationPolicy
	for i := range 5 {
		p := s.policy(fmt.Sprint("p", i), document)
		s.waits(p, 2)
		all = append(all, p)
	}
	r := s.operator()
	for range 2 {
		for _, p := range all {
			require.NoError(t, s.step(r, p))
			require.Len(t, s.granted(p), 1)
		}
	}
	require.Equal(t, int32(1), s.lists.Load())
}

// The answer to a grant may be lost: it may have been written all the same, and then the node may have started.
func TestAGrantWhoseAnswerIsLostCounts(t *testing.T) {
	s := newStage(t, 3)
	p := s.policy("p", "maxUnavailable: 1\n"+document)
	s.waits(p, 3)
	r := s.operator()
	s.lost.Store(true)
	require.ErrorContains(t, s.step(r, p), "the answer was lost")
	before := s.granted(p)
	require.Len(t, before, 1)
	s.lost.Store(false)
	for range 3 {
		require.NoError(t, s.step(r, p))
		require.Equal(t, before, s.granted(p))
	}
}

// One that was not written is given again, and an enactment that is gone is left.
func TestADoubtEndsWithWhatTheServerHas(t *testing.T) {
	shared.Server(t)
	s := newStage(t, 2)
	p := s.policy("p", "maxUnavailable: 1\n"+document)
	s.waits(p, 2)
	r := s.operator()
	require.NoError(t, r.pruneState(t.Context()))
	all, err := r.enactmentsOf(t.Context(), p)
	require.NoError(t, err)
	e := all[s.node(0)]
	r.granted.doubtGrant(e.UID)
	require.NoError(t, s.step(r, p))
	require.Len(t, s.granted(p), 1)
	require.False(t, r.granted.isDoubted(e.UID))

	r.granted.doubtGrant(e.UID)
	require.NoError(t, s.api.Delete(t.Context(), e.DeepCopy()))
	left, err := r.enactmentsOf(t.Context(), p)
	require.NoError(t, err)
	require.NotContains(t, left, s.node(0))
	require.Contains(t, left, s.node(1))
}
