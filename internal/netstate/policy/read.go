package policy

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// ErrNoPolicy reports a document that is a state and no policy.
var ErrNoPolicy = errors.New("the document has neither capture nor desiredState")

// Read takes a policy out of a file: capture and desiredState, at the top as nmstatectl has them, or in the spec of a
// NodeNetworkConfigurationPolicy. It fails with ErrNoPolicy where the file is something else.
func Read(data []byte) (Policy, error) {
	if len(data) > tree.MaxBytes {
		return Policy{}, fmt.Errorf("the policy has %d bytes, and %d are the most that is read", len(data), tree.MaxBytes)
	}
	type body struct {
		Capture map[string]string `yaml:"capture"`
		Old     yaml.Node         `yaml:"desired"`
		Desired yaml.Node         `yaml:"desiredState"`
	}
	var b body
	manifest := struct {
		Spec *body `yaml:"spec"`
	}{}
	if err := errors.Join(yaml.Unmarshal(data, &b), yaml.Unmarshal(data, &manifest)); err != nil {
		return Policy{}, fmt.Errorf("the policy is not YAML: %w", err)
	}
	if manifest.Spec != nil {
		b = *manifest.Spec
	}
	if b.Desired.IsZero() {
		b.Desired = b.Old
	}
	if b.Capture == nil && b.Desired.IsZero() {
		return Policy{}, ErrNoPolicy
	}
	p := Policy{Captures: b.Capture}
	if b.Desired.IsZero() {
		return p, nil
	}
	text, err := yaml.Marshal(&b.Desired)
	if err != nil {
		return Policy{}, fmt.Errorf("take desiredState out of the policy: %w", err)
	}
	p.Desired = text
	return p, nil
}
