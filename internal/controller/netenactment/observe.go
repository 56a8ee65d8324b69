package netenactment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/caches"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/machineconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// observation is everything that one pass decides on.
type observation struct {
	now  time.Time
	node *metav1.PartialObjectMetadata
	// boot and stateroot are the system that runs.
	boot, stateroot string
	// request is the enactment under way on the node; nil for none.
	request *netpolicy.Request
	// unreadable: its journal is one that this version cannot read.
	unreadable bool
	// views are the policies, and the enactments and records of policies that are gone, by name.
	views []*policyView

	observe  func(ctx context.Context) (netstate.Document, error)
	observed *netstate.Document
}

// policyView is one policy on this node.
type policyView struct {
	name string
	// policy is nil where it does not exist; the others are nil where there is none.
	policy    *nmstatev1.NodeNetworkConfigurationPolicy
	enactment *nmstatev1beta1.NodeNetworkConfigurationEnactment
	outcome   *netpolicy.Outcome
	committed *record.Committed
	compared  comparison
	// delivered: the node has the document of a policy for machine config pools.
	delivered bool
}

// inTurn are the policies in the order in which they may start: by name, those that failed before after those that have not been tried.
func (s *observation) inTurn() []*policyView {
	failed := func(v *policyView) int {
		if v.policy != nil && v.outcome != nil && v.outcome.Result == netpolicy.ResultFailed && v.hasEnded(v.outcome.Action) {
			return v.outcome.Attempt
		}
		return 0
	}
	turn := slices.Clone(s.views)
	slices.SortStableFunc(turn, func(a, b *policyView) int { return cmp.Compare(failed(a), failed(b)) })
	return turn
}

// observeNetwork observes the network, once in a pass.
func (s *observation) observeNetwork(ctx context.Context) (netstate.Document, error) {
	if s.observed == nil {
		d, err := s.observe(ctx)
		if err != nil {
			return d, fmt.Errorf("observe the network: %w", err)
		}
		s.observed = &d
	}
	return *s.observed, nil
}

// observeNode reads everything that a pass decides on; nil where the node has no Node object yet.
func (r *Reconciler) observeNode(ctx context.Context) (*observation, error) {
	s := &observation{now: r.Now(), node: caches.NodeMetadata(), observe: r.Node.Network.Observe}
	if err := r.Cache.Get(ctx, client.ObjectKey{Name: r.NodeName}, s.node); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("get node %s: %w", r.NodeName, err)
	}
	boot, err := r.Node.Files.Read(host.BootIDFile)
	if err != nil {
		return nil, fmt.Errorf("read the boot id: %w", err)
	}
	s.boot = strings.TrimSpace(string(boot))
	if s.stateroot, err = r.bootedStateroot(ctx); err != nil {
		return nil, err
	}
	request, err := netpolicy.ReadRequest(r.Node.Files)
	if err != nil && !errors.Is(err, netpolicy.ErrNoRequest) {
		return nil, err
	}
	if err == nil {
		s.request, s.unreadable = &request, netpolicy.Unreadable(r.Node.Files, request)
	}
	return s, r.joinByPolicy(ctx, s)
}

// joinByPolicy joins policies, enactments and records by the policy's name.
func (r *Reconciler) joinByPolicy(ctx context.Context, s *observation) error {
	views := map[string]*policyView{}
	of := func(name string) *policyView {
		if views[name] == nil {
			views[name] = &policyView{name: name}
		}
		return views[name]
	}
	var policies nmstatev1.NodeNetworkConfigurationPolicyList
	if err := r.Cache.List(ctx, &policies); err != nil {
		return fmt.Errorf("list policies: %w", err)
	}
	for i, p := range policies.Items {
		of(p.Name).policy = &policies.Items[i]
	}
	var enactments nmstatev1beta1.NodeNetworkConfigurationEnactmentList
	if err := r.Cache.List(ctx, &enactments, client.MatchingLabels{nmstatev1.NodeLabel: r.NodeName}); err != nil {
		return fmt.Errorf("list the enactments of node %s: %w", r.NodeName, err)
	}
	known, err := r.latest.Correct(ctx, enactments.Items, r.Reader, s.now)
	if err != nil {
		return err
	}
	for i, e := range known {
		name := cmp.Or(e.Labels[nmstatev1.PolicyLabel], strings.TrimPrefix(e.Name, r.NodeName+"."))
		of(name).enactment = &known[i]
	}
	records, err := record.Store{Files: r.Node.Files}.All()
	if err != nil {
		return err
	}
	for i, c := range records {
		of(c.Policy).committed = &records[i]
	}
	for _, name := range slices.Sorted(maps.Keys(views)) {
		v := views[name]
		o, found, err := netpolicy.ReadOutcome(r.Node.Files, name)
		if err != nil {
			return err
		}
		if found {
			v.outcome = &o
		}
		if v.delivered, err = r.isDelivered(v); err != nil {
			return err
		}
		s.views = append(s.views, v)
	}
	return nil
}

// isDelivered says whether the machine-config daemon has written the document of a policy for machine config pools: such a policy is for
// the nodes that have it.
func (r *Reconciler) isDelivered(v *policyView) (bool, error) {
	if v.policy == nil || v.policy.Spec.MachineConfigPoolSelector == nil {
		return false, nil
	}
	_, err := r.Node.Files.Stat(machineconfig.Path(v.name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("look for the document of policy %s: %w", v.name, err)
	}
	return err == nil, nil
}

// isSelectedBy says whether the policy is for this node.
func (s *observation) isSelectedBy(v *policyView) bool {
	p := v.policy
	if p.Spec.MachineConfigPoolSelector != nil {
		return v.delivered
	}
	for key, value := range p.Spec.NodeSelector {
		if have, ok := s.node.Labels[key]; !ok || have != value {
			return false
		}
	}
	return true
}

// bootedStateroot is empty on a plain node.
func (r *Reconciler) bootedStateroot(ctx context.Context) (string, error) {
	if r.stateroot != nil {
		return *r.stateroot, nil
	}
	ostree, err := host.HasDeployments(r.Node.Files)
	if err != nil {
		return "", err
	}
	name := ""
	if ostree && r.Node.Deployments != nil {
		all, err := r.Node.Deployments.List(ctx)
		if err != nil {
			return "", fmt.Errorf("list deployments: %w", err)
		}
		booted, err := host.Booted(all)
		if err != nil {
			return "", fmt.Errorf("find the booted deployment: %w", err)
		}
		name = booted.Stateroot
	}
	r.stateroot = &name
	return name, nil
}
