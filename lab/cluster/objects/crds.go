package objects

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const (
	featureSet    = "release.openshift.io/feature-set"
	includePrefix = "include.release.openshift.io/"
	selfManagedHA = includePrefix + "self-managed-high-availability"
)

// LoadCRDs reads the files and keeps those a self-managed cluster with the default feature set has, one for each name.
func LoadCRDs(files []string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	chosen := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a CRD: %w", err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, crd); err != nil {
			return nil, fmt.Errorf("parse %s: %w", filepath.Base(file), err)
		}
		if strings.Contains(filepath.ToSlash(file), "/example/") || !shipped(crd.Annotations) {
			continue
		}
		if old, ok := chosen[crd.Name]; !ok || maturity(crd) > maturity(old) {
			chosen[crd.Name] = crd
		}
	}
	out := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(chosen))
	for _, crd := range chosen {
		out = append(out, crd)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

// shipped tells whether the release payload of a self-managed cluster with the default feature set holds this CRD.
func shipped(annotations map[string]string) bool {
	if set, ok := annotations[featureSet]; ok {
		found := false
		for _, name := range strings.Split(set, ",") {
			found = found || name == "Default"
		}
		if !found {
			return false
		}
	}
	restricted := false
	for key := range annotations {
		restricted = restricted || strings.HasPrefix(key, includePrefix)
	}
	return !restricted || annotations[selfManagedHA] == "true"
}

// maturity prefers v1 over v1beta1 over v1alpha1 where a CRD comes in several files.
func maturity(crd *apiextensionsv1.CustomResourceDefinition) int {
	best := 0
	for _, v := range crd.Spec.Versions {
		switch {
		case strings.Contains(v.Name, "alpha"):
			best = max(best, 1)
		case strings.Contains(v.Name, "beta"):
			best = max(best, 2)
		default:
			best = max(best, 3)
		}
	}
	return best
}
