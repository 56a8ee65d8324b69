package review

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

const desiredState = "spec.desiredState"

// checkDocument checks desiredState: its templates, then its keys and the types of its values, then its meaning.
func (r *reviewer) checkDocument() {
	if r.spec.DesiredState == nil || len(r.spec.DesiredState.Raw) == 0 {
		return
	}
	raw := r.spec.DesiredState.Raw
	if len(raw) > netpolicy.MaxDocument {
		r.addProblem(desiredState, fmt.Sprintf("the document has %d bytes, and %d are the most that is taken", len(raw),
			netpolicy.MaxDocument))
		return
	}
	var document any
	if err := json.Unmarshal(raw, &document); err != nil {
		r.addProblem(desiredState, "not JSON: "+err.Error())
		return
	}
	keys, ok := document.(map[string]any)
	if !ok {
		r.addProblem(desiredState, "the document has to be a set of keys, such as interfaces and routes")
		return
	}
	templated := r.checkTemplates(keys)
	if r.checkKeys(keys) {
		r.checkMeaning(keys, templated)
	}
}

// checkKeys checks keys and types, and reports whether they are right. Values with templates have been removed.
func (r *reviewer) checkKeys(keys map[string]any) bool {
	_, err := decodeKeys(keys)
	if err == nil {
		return true
	}
	var all tree.Problems
	if !errors.As(err, &all) {
		r.addProblem(desiredState, err.Error())
		return false
	}
	for _, p := range all {
		path := desiredState
		if p.Path != "" {
			path += "." + p.Path
		}
		r.addProblem(path, p.Reason)
	}
	return false
}

// checkMeaning checks the meaning of all entries without templates.
func (r *reviewer) checkMeaning(keys map[string]any, templated *entries) {
	templated.removeFrom(keys)
	d, err := decodeKeys(keys)
	if err != nil {
		r.addProblem(desiredState, err.Error())
		return
	}
	if r.spec.Persistence == nmstatev1.PersistenceEphemeral {
		for _, path := range d.Lasting() {
			r.addProblem(desiredState+"."+path, netstate.NotEphemeral)
		}
	}
	err = netstate.Validate(d)
	var all netstate.Problems
	if err == nil || !errors.As(err, &all) {
		return
	}
	for _, text := range all {
		path, reason, _ := strings.Cut(text, ": ")
		r.addProblem(desiredState+"."+path, reason)
	}
}

func decodeKeys(keys map[string]any) (netstate.Document, error) {
	text, err := json.Marshal(keys)
	if err != nil {
		return netstate.Document{}, fmt.Errorf("format the document: %w", err)
	}
	return netstate.Decode(text)
}
