package netpolicy

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// fleet is the agents of all nodes of a world: it keeps the contract of internal/netpolicy/rollout, and changes nothing but enactments.
type fleet struct {
	client client.Client
	world  string
	// outcome says what becomes of a policy on a node; Available if nil, never finished if Progressing.
	mu      sync.Mutex
	outcome func(node, policy string) condition.State
	// highest number of nodes that were changing at a time, by policy.
	changing map[string]map[string]bool
	highest  map[string]int
}

func newFleet(w *world) *fleet {
	mgr := w.manager()
	f := &fleet{client: mgr.GetClient(), world: w.name, changing: map[string]map[string]bool{}, highest: map[string]int{}}
	mine := predicate.NewPredicateFuncs(func(o client.Object) bool { return strings.HasPrefix(o.GetName(), w.name+"-") })
	err := ctrl.NewControllerManagedBy(mgr).Named("agents").
		Watches(&nmstatev1.NodeNetworkConfigurationPolicy{}, handler.EnqueueRequestsFromMapFunc(f.nodes), builder.WithPredicates(predicate.GenerationChangedPredicate{}, mine)).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(f.policies), builder.WithPredicates(mine, predicate.LabelChangedPredicate{})).
		Watches(&v1beta1.NodeNetworkConfigurationEnactment{}, handler.EnqueueRequestsFromMapFunc(ofOne), builder.WithPredicates(mine)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 16}).
		Complete(reconcile.Func(f.reconcile))
	require.NoError(w.t, err)
	w.run(mgr)
	return f
}

func (f *fleet) fails(outcome func(node, policy string) condition.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outcome = outcome
}

func request(node, policy string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: node, Name: policy}}
}

func ofOne(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{request(o.GetLabels()[nmstatev1.NodeLabel], o.GetLabels()[nmstatev1.PolicyLabel])}
}

func (f *fleet) nodes(ctx context.Context, p client.Object) (requests []reconcile.Request) {
	list := &corev1.NodeList{}
	_ = f.client.List(ctx, list, client.MatchingLabels{"world": f.world}, client.UnsafeDisableDeepCopy)
	for i := range list.Items {
		requests = append(requests, request(list.Items[i].Name, p.GetName()))
	}
	return requests
}

func (f *fleet) policies(ctx context.Context, n client.Object) (requests []reconcile.Request) {
	list := &nmstatev1.NodeNetworkConfigurationPolicyList{}
	_ = f.client.List(ctx, list, client.UnsafeDisableDeepCopy)
	for i := range list.Items {
		requests = append(requests, request(n.GetName(), list.Items[i].Name))
	}
	return requests
}

// reconcile is one agent's turn with one policy.
func (f *fleet) reconcile(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
	node, policy := q.Namespace, &nmstatev1.NodeNetworkConfigurationPolicy{}
	e := &v1beta1.NodeNetworkConfigurationEnactment{}
	eErr := f.client.Get(ctx, client.ObjectKey{Name: v1beta1.EnactmentName(node, q.Name)}, e)
	n := &corev1.Node{}
	if err := f.client.Get(ctx, client.ObjectKey{Name: node}, n); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if f.down(n) {
		return reconcile.Result{RequeueAfter: 50 * time.Millisecond}, nil
	}
	err := f.client.Get(ctx, client.ObjectKey{Name: q.Name}, policy)
	gone := apierrors.IsNotFound(err) || err == nil && !labels.SelectorFromSet(policy.Spec.NodeSelector).Matches(labels.Set(n.Labels))
	switch {
	case gone && eErr == nil:
		return reconcile.Result{}, client.IgnoreNotFound(f.client.Delete(ctx, e))
	case gone || err != nil:
		return reconcile.Result{}, client.IgnoreNotFound(err)
	case apierrors.IsNotFound(eErr) && policy.DeletionTimestamp == nil:
		return reconcile.Result{}, f.create(ctx, n, policy)
	case eErr != nil:
		return reconcile.Result{}, client.IgnoreNotFound(eErr)
	}
	return f.act(ctx, node, policy, e)
}

func (f *fleet) create(ctx context.Context, n *corev1.Node, policy *nmstatev1.NodeNetworkConfigurationPolicy) error {
	e := &v1beta1.NodeNetworkConfigurationEnactment{ObjectMeta: metav1.ObjectMeta{
		Name:            v1beta1.EnactmentName(n.Name, policy.Name),
		Labels:          map[string]string{nmstatev1.PolicyLabel: policy.Name, nmstatev1.NodeLabel: n.Name},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID}},
	}}
	err := f.client.Create(ctx, e)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (f *fleet) act(ctx context.Context, node string, policy *nmstatev1.NodeNetworkConfigurationPolicy, e *v1beta1.NodeNetworkConfigurationEnactment) (reconcile.Result, error) {
	state, _ := condition.Of(e.Status.Conditions)
	switch {
	case e.Status.PolicyGeneration != policy.Generation:
		return reconcile.Result{}, f.write(ctx, policy, e, condition.Pending, condition.MessagePending)
	case !v1beta1.Granted(e, policy) || state == condition.Available || state == condition.Failed || state == condition.Aborted:
		return reconcile.Result{}, nil
	case state == condition.Pending:
		f.changes(policy.Name, node, true)
		return reconcile.Result{}, f.write(ctx, policy, e, condition.Progressing, condition.MessageProgressing)
	}
	f.mu.Lock()
	outcome := condition.Available
	if f.outcome != nil {
		outcome = f.outcome(node, policy.Name)
	}
	f.mu.Unlock()
	if outcome == condition.Progressing {
		return reconcile.Result{RequeueAfter: 50 * time.Millisecond}, nil
	}
	if policy.DeletionTimestamp != nil && outcome == condition.Available {
		f.changes(policy.Name, node, false)
		return reconcile.Result{}, client.IgnoreNotFound(f.client.Delete(ctx, e))
	}
	if outcome == condition.Available {
		f.changes(policy.Name, node, false)
	}
	return reconcile.Result{}, f.write(ctx, policy, e, outcome, condition.MessageAvailable)
}

func (f *fleet) write(ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, e *v1beta1.NodeNetworkConfigurationEnactment, s condition.State, message string) error {
	before := e.DeepCopy()
	e.Status.PolicyGeneration = policy.Generation
	e.Status.DesiredState = policy.Spec.DesiredState
	e.Status.Conditions = condition.SetEnactment(e.Status.Conditions, s, message, time.Now())
	return client.IgnoreNotFound(f.client.Status().Patch(ctx, e, client.MergeFrom(before)))
}

func (f *fleet) changes(policy, node string, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changing[policy] == nil {
		f.changing[policy] = map[string]bool{}
	}
	if is {
		f.changing[policy][node] = true
	} else {
		delete(f.changing[policy], node)
	}
	f.highest[policy] = max(f.highest[policy], len(f.changing[policy]))
}

func (f *fleet) most(policy string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.highest[policy]
}

// down agents are those of nodes with the label down.
func (f *fleet) down(n *corev1.Node) bool { return n.Labels["down"] != "" }
