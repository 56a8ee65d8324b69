package fleet

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/policy"
)

func decodeObject(text []byte) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &o.Object); err != nil {
		return nil, fmt.Errorf("decode an object: %w", err)
	}
	return o, nil
}

// review says what is wrong with an object that a template made.
func review(o *unstructured.Unstructured) error {
	g, known := goalOf(o)
	switch {
	case !known || g == addressGoal():
		return fmt.Errorf("%s %s is not a kind for templates; those are %s", o.GetAPIVersion(), o.GetKind(), kinds())
	case len(validation.IsDNS1123Subdomain(o.GetName())) > 0:
		return fmt.Errorf("metadata.name %q is not a Kubernetes name", o.GetName())
	case o.Object["spec"] == nil:
		return fmt.Errorf("%s %s has no spec", o.GetKind(), o.GetName())
	case g.group == goals()[0].group:
		return reviewPolicy(o)
	}
	return nil
}

func kinds() string {
	var out []string
	for _, g := range goals() {
		out = append(out, g.kind)
	}
	return strings.Join(out, ", ")
}

// reviewPolicy is the one place that judges a network policy.
func reviewPolicy(o *unstructured.Unstructured) error {
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		return fmt.Errorf("encode policy %s: %w", o.GetName(), err)
	}
	p, err := policy.Read(text)
	if err != nil {
		return fmt.Errorf("policy %s: %w", o.GetName(), err)
	}
	if len(p.Captures) > 0 {
		return policy.Check(p)
	}
	d, err := netstate.Decode(p.Desired)
	if err != nil {
		return fmt.Errorf("policy %s: %w", o.GetName(), err)
	}
	if err := netstate.Validate(d); err != nil {
		return fmt.Errorf("policy %s: %w", o.GetName(), err)
	}
	return nil
}
