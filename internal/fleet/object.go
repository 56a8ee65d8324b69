package fleet

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/review"
)

func decodeObject(text []byte) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &o.Object); err != nil {
		return nil, fmt.Errorf("decode an object: %w", err)
	}
	return o, nil
}

// checkObject reports what is wrong with an object that a template made.
func checkObject(o *unstructured.Unstructured) error {
	g, known := goalOf(o)
	switch {
	case !known || g == addressGoal():
		return fmt.Errorf("%s %s is not a kind for templates; those are %s", o.GetAPIVersion(), o.GetKind(), listKinds())
	case len(validation.IsDNS1123Subdomain(o.GetName())) > 0:
		return fmt.Errorf("metadata.name %q is not a Kubernetes name", o.GetName())
	case o.Object["spec"] == nil:
		return fmt.Errorf("%s %s has no spec", o.GetKind(), o.GetName())
	case g.group == templateGoals()[0].group:
		return reviewPolicy(o)
	}
	return nil
}

func listKinds() string {
	var out []string
	for _, g := range templateGoals() {
		out = append(out, g.kind)
	}
	return strings.Join(out, ", ")
}

// reviewPolicy judges a network policy as the clusters' API servers do.
func reviewPolicy(o *unstructured.Unstructured) error {
	p := &nmstatev1.NodeNetworkConfigurationPolicy{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, p); err != nil {
		return fmt.Errorf("policy %s: %w", o.GetName(), err)
	}
	if problems := review.Check(p); len(problems) > 0 {
		return fmt.Errorf("policy %s: %w", o.GetName(), problems)
	}
	return nil
}
