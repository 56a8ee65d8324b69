package netenactment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/nodejob"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/probing"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/values"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// job carries out the request on the node.
var job = nodejob.Job{
	Unit: netpolicy.Unit, Description: "Lifecycle Agent: enact a network policy",
	Argv: []string{host.CLI, "network", "enact"}, Restart: true,
}

// startEnactment stores the request of an enactment and starts its unit. What the policy lacks is reported as its state.
func (r *Reconciler) startEnactment(ctx context.Context, s *observation, v *policyView, j *decision) error {
	request, missing, err := r.buildRequest(s, v, *j)
	if err != nil {
		return err
	}
	if missing != "" {
		j.reason, j.message = nmstatev1beta1.ReasonValueMissing, missing
		return nil
	}
	if err := r.InstallCLI.Install(); err != nil {
		return fmt.Errorf("install lca-cli: %w", err)
	}
	err = netpolicy.Prepare(ctx, operation.Intake{Files: r.Node.Files, Boots: r.Node.Boots, Log: r.Log}, request)
	if errors.Is(err, operation.ErrRefused) {
		j.state, j.message = condition.Failed, err.Error()
		return nil
	}
	if err != nil {
		return fmt.Errorf("store the request: %w", err)
	}
	delete(r.changedSince, v.name)
	r.running.Reset()
	r.running.Begin(s.now)
	s.request = &request
	j.state, j.message = condition.Progressing, condition.MessageProgressing
	r.Log.Info("enactment requested", "policy", v.name, "generation", request.Generation, "action", request.Action,
		"attempt", request.Attempt, "op", request.OperationID)
	return nodejob.Start(ctx, r.Node.Transients, job)
}

// restartUnit starts the unit again where it ended without carrying the request out, and says when to look again.
func (r *Reconciler) restartUnit(ctx context.Context, s *observation) (time.Duration, error) {
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
func (r *Reconciler) prepareNode(ctx context.Context, s *observation) error {
	if !r.installed {
		if err := r.InstallCLI.Install(); err != nil {
			return fmt.Errorf("install lca-cli: %w", err)
		}
		if err := netpolicy.InstallUnits(ctx, r.Node.Files, r.Node.Units); err != nil {
			return fmt.Errorf("install the units: %w", err)
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
func (r *Reconciler) handledByOther(ctx context.Context, s *observation) (bool, error) {
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

// buildRequest makes the request of the enactment that a decision calls for. missing says what the policy waits for; the request is
// then empty.
func (r *Reconciler) buildRequest(s *observation, v *policyView, j decision) (request netpolicy.Request, missing string, err error) {
	request = netpolicy.Request{
		OperationID: operation.NewID(s.now, r.Random()), Action: j.action, Policy: v.name, UID: string(v.policy.UID),
		Generation: v.policy.Generation, Attempt: j.attempt, Persistence: string(v.policy.Spec.Persistence),
		Stateroot: s.stateroot,
	}
	addProbes(&request, v.policy.Spec.Probes)
	if j.action == netpolicy.ActionRevert {
		request.Document = v.committed.Revert
		return request, "", nil
	}
	request.Captures = v.policy.Spec.Capture
	if v.committed != nil && v.committed.Of(string(v.policy.UID), s.stateroot) {
		request.Captured = v.committed.Captured
		if v.committed.Undone == "" {
			request.Revert, request.Before = v.committed.Revert, v.committed.Before
			if v.policy.Spec.MachineConfigPoolSelector != nil {
				request.Last = v.committed.Document
			}
		}
	}
	request.Document, missing, err = fillDocument(s, v)
	return request, missing, err
}

// fillDocument is the policy's document with the values of this node.
func fillDocument(s *observation, v *policyView) (text, missing string, err error) {
	raw := []byte("{}")
	if v.policy.Spec.DesiredState != nil && len(v.policy.Spec.DesiredState.Raw) > 0 {
		raw = v.policy.Spec.DesiredState.Raw
	}
	if len(v.policy.Spec.TemplateValues) == 0 {
		return string(raw), "", nil
	}
	known, missing, err := templateValues(s, v)
	if missing != "" || err != nil {
		return "", missing, err
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return "", "", fmt.Errorf("decode desiredState: %w", err)
	}
	filled, err := json.Marshal(values.Fill(tree, known))
	if err != nil {
		return "", "", fmt.Errorf("encode desiredState: %w", err)
	}
	return string(filled), "", nil
}

// addProbes translates the probes of a policy.
func addProbes(request *netpolicy.Request, probes *nmstatev1.Probes) {
	if probes == nil {
		return
	}
	request.ProbeSeconds = int(probes.TimeoutSeconds)
	if probes.Builtin != nil {
		request.Builtin = []string{}
		for _, b := range *probes.Builtin {
			request.Builtin = append(request.Builtin, string(b))
		}
	}
	for _, p := range probes.Custom {
		timeout := int(p.TimeoutSeconds)
		if timeout == 0 {
			timeout = customSeconds
		}
		request.Probes = append(request.Probes, probing.Probe{
			Kind: probing.KindCustom, Name: p.Name, TimeoutSeconds: timeout,
			Endpoint: &probing.Endpoint{Type: string(p.Type), Target: p.Target},
		})
	}
}

// customSeconds is the default of the API.
const customSeconds = 30

// templateValues are the policy's template values on this node: labels and annotations of the Node, and the addresses that the
// operator claimed. missing names the one that the node waits for.
func templateValues(s *observation, v *policyView) (all map[string]string, missing string, err error) {
	all = map[string]string{}
	if v.enactment != nil && v.enactment.Annotations[nmstatev1beta1.ValuesAnnotation] != "" {
		claimed := map[string]string{}
		if err := json.Unmarshal([]byte(v.enactment.Annotations[nmstatev1beta1.ValuesAnnotation]), &claimed); err != nil {
			return nil, "", fmt.Errorf("decode annotation %s of %s: %w", nmstatev1beta1.ValuesAnnotation, v.enactment.Name, err)
		}
		maps.Copy(all, claimed)
	}
	for _, t := range v.policy.Spec.TemplateValues {
		value, found, what := "", false, ""
		switch {
		case t.Label != "":
			value, found = s.node.Labels[t.Label]
			what = "label " + t.Label
		case t.Annotation != "":
			value, found = s.node.Annotations[t.Annotation]
			what = "annotation " + t.Annotation
		default:
			value, found = all[t.Name]
			what = "an address for value " + t.Name
		}
		if !found && t.Default != nil {
			value, found = *t.Default, true
		}
		if !found {
			return nil, fmt.Sprintf("Waiting for %s of node %s", what, s.node.Name), nil
		}
		all[t.Name] = value
	}
	return all, "", nil
}
