package netenactment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/nodejob"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// job carries out the request on the node.
var job = nodejob.Job{
	Unit: netpolicy.Unit, Description: "Lifecycle Agent: enact a network policy",
	Argv: []string{host.CLI, "network", "enact"}, Restart: true,
}

// start stores the request of an enactment and starts its unit. What the policy lacks is reported as its state.
func (r *Reconciler) start(ctx context.Context, s *scene, v *view, j *judgement) error {
	request, missing, err := r.request(s, v, *j)
	if err != nil {
		return err
	}
	if missing != "" {
		j.message = missing
		return nil
	}
	if err := r.InstallCLI.Install(); err != nil {
		return err
	}
	err = netpolicy.Prepare(r.Node.Files, request)
	if errors.Is(err, operation.ErrRefused) {
		j.state, j.message = condition.Failed, err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	r.running.Reset()
	r.running.Begin(s.now)
	s.request = &request
	j.state, j.message = condition.Progressing, condition.MessageProgressing
	r.Log.Info("enactment requested", "policy", v.name, "generation", request.Generation, "action", request.Action,
		"attempt", request.Attempt, "op", request.OperationID)
	return nodejob.Start(ctx, r.Node.Transients, job)
}

// resume starts the unit again where it ended without carrying the request out, and says when to look again.
func (r *Reconciler) resume(ctx context.Context, s *scene) (time.Duration, error) {
	state, err := r.Node.Units.State(ctx, job.Unit)
	if err != nil {
		return 0, fmt.Errorf("read the state of %s: %w", job.Unit, err)
	}
	if state.Running() {
		return whileRunning, nil
	}
	if err := nodejob.Retry(ctx, r.Node.Transients, job, &r.running, s.now); err != nil {
		return 0, err
	}
	return min(r.running.Wait(s.now), whileRunning*5), nil
}

// prepareNode installs, once, the unit that settles a change before NetworkManager starts, and has a change settled that an
// earlier process left open.
func (r *Reconciler) prepareNode(ctx context.Context, s *scene) error {
	if !r.installed {
		if err := r.InstallCLI.Install(); err != nil {
			return err
		}
		if err := netpolicy.InstallUnits(ctx, r.Node.Files, r.Node.Units); err != nil {
			return err
		}
		r.installed = true
	}
	if r.settled || s.request != nil {
		return nil
	}
	r.settled = true
	_, err := r.Node.Files.Stat(host.StateDir + "/network/transaction.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for an interrupted change of the network: %w", err)
	}
	return nodejob.Start(ctx, r.Node.Transients, nodejob.Job{
		Unit: "lca-network-settle.service", Description: "Lifecycle Agent: settle an interrupted change of the network",
		Argv: []string{host.CLI, "network", "recover"},
	})
}

// fromServersCache has the API server answer from memory, without a look into etcd: a thousand agents ask this every minute.
var fromServersCache = &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}

// handlerCheck remembers whether kubernetes-nmstate runs on this node.
type handlerCheck struct {
	at      time.Time
	present bool
}

// handledByOther says whether a pod of kubernetes-nmstate runs on this node: two agents must not act on one node. What this
// agent has begun is brought to its end all the same.
func (r *Reconciler) handledByOther(ctx context.Context, s *scene) (bool, error) {
	if s.request != nil {
		return false, nil
	}
	if !r.handler.at.IsZero() && s.now.Sub(r.handler.at) < whileHandled/2 {
		return r.handler.present, nil
	}
	var pods metav1.PartialObjectMetadataList
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := r.Reader.List(ctx, &pods, client.MatchingLabels{nmstatev1.HandlerLabelKey: nmstatev1.HandlerLabelValue},
		client.MatchingFields{"spec.nodeName": r.NodeName}, fromServersCache); err != nil {
		return false, fmt.Errorf("look for kubernetes-nmstate on node %s: %w", r.NodeName, err)
	}
	present := len(pods.Items) > 0
	if present && !r.handler.present {
		r.Log.Warn("kubernetes-nmstate runs on this node: its network is left alone until that pod is gone",
			"pod", pods.Items[0].Namespace+"/"+pods.Items[0].Name)
	}
	r.handler = handlerCheck{at: s.now, present: present}
	return present, nil
}
