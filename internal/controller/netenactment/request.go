package netenactment

import (
	"encoding/json"
	"fmt"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/probing"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/values"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// request is the enactment that a judgement calls for. missing says what the policy waits for; the request is then empty.
func (r *Reconciler) request(s *scene, v *view, j judgement) (request netpolicy.Request, missing string, err error) {
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
	request.Document, missing, err = document(s, v)
	return request, missing, err
}

// document is the policy's document with the values of this node.
func document(s *scene, v *view) (text, missing string, err error) {
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
