package apitest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// openshiftModule is the module that carries OpenShift's definitions as YAML,
// in <group>/<version>/zz_generated.crd-manifests.
const openshiftModule = "github.com/openshift/api"

// featureSetAnnotation lists the feature sets for which one variant of an
// OpenShift definition is meant; without it the variant is for all.
const featureSetAnnotation = "release.openshift.io/feature-set"

// definitions returns the definitions that the options ask for.
func definitions(root string, options Options) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	own, err := ownCRDs(filepath.Join(root, "config", "crd", "bases"), options.CRDs)
	if err != nil {
		return nil, err
	}
	for module, patterns := range options.ModuleCRDs {
		dir, err := moduleDir(root, module)
		if err != nil {
			return nil, err
		}
		more, err := ownCRDs(dir, patterns)
		if err != nil {
			return nil, err
		}
		own = append(own, more...)
	}
	if len(options.OpenShiftCRDs) == 0 {
		return own, nil
	}
	dir, err := moduleDir(root, openshiftModule)
	if err != nil {
		return nil, err
	}
	foreign, err := openShiftCRDs(dir, options.OpenShiftCRDs)
	if err != nil {
		return nil, err
	}
	return append(own, foreign...), nil
}

// ownCRDs reads the definitions in dir that match one of the patterns.
func ownCRDs(dir string, patterns []string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	if len(patterns) == 0 {
		patterns = []string{"*.yaml"}
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, fmt.Errorf("find CRDs %q: %w", pattern, err)
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("find CRDs: nothing in %s matches %q", dir, pattern)
		}
		for _, file := range files {
			crd, err := readCRD(file)
			if err != nil {
				return nil, err
			}
			crds = append(crds, crd)
		}
	}
	return crds, nil
}

// openShiftCRDs finds the named definitions below dir, each in the variant for
// the default feature set of a self-managed cluster. A name that occurs in
// several files is taken from the file of the most stable version.
func openShiftCRDs(dir string, names []string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !wantedManifest(path, names) {
			return err
		}
		crd, err := readCRD(path)
		if err != nil {
			return err
		}
		if isDefaultVariant(crd) && (found[crd.Name] == nil || moreStable(crd, found[crd.Name])) {
			found[crd.Name] = crd
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read CRDs of %s: %w", openshiftModule, err)
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(names))
	for _, name := range names {
		if found[name] == nil {
			return nil, fmt.Errorf("%s has no CRD %q", openshiftModule, name)
		}
		crds = append(crds, found[name])
	}
	return crds, nil
}

// wantedManifest tells whether the file may hold one of the named definitions.
// It looks at the name of the file only, because parsing all 200 takes seconds.
func wantedManifest(path string, names []string) bool {
	if !strings.HasSuffix(path, ".crd.yaml") || filepath.Base(filepath.Dir(path)) != "zz_generated.crd-manifests" {
		return false
	}
	for _, name := range names {
		plural, _, _ := strings.Cut(name, ".")
		if strings.Contains(filepath.Base(path), plural) {
			return true
		}
	}
	return false
}

// isDefaultVariant tells whether a self-managed cluster without a special
// feature set carries this variant.
func isDefaultVariant(crd *apiextensionsv1.CustomResourceDefinition) bool {
	const include = "include.release.openshift.io/"
	restricted := false
	for key := range crd.Annotations {
		restricted = restricted || strings.HasPrefix(key, include)
	}
	if restricted && crd.Annotations[include+"self-managed-high-availability"] != "true" {
		return false
	}
	sets, limited := crd.Annotations[featureSetAnnotation]
	if !limited {
		return true
	}
	for set := range strings.SplitSeq(sets, ",") {
		if strings.TrimSpace(set) == "Default" {
			return true
		}
	}
	return false
}

// moreStable tells whether a serves a stable version and b does not.
func moreStable(a, b *apiextensionsv1.CustomResourceDefinition) bool {
	return isStable(a) && !isStable(b)
}

// isStable tells whether the definition has a version that is neither alpha nor
// beta.
func isStable(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, version := range crd.Spec.Versions {
		if !strings.Contains(version.Name, "alpha") && !strings.Contains(version.Name, "beta") {
			return true
		}
	}
	return false
}

// readCRD reads one definition.
func readCRD(path string) (*apiextensionsv1.CustomResourceDefinition, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read CRD: %w", err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(data, crd); err != nil {
		return nil, fmt.Errorf("parse CRD %s: %w", path, err)
	}
	return crd, nil
}

// moduleDir returns where the go command keeps the source of a module that the
// module in root depends on.
func moduleDir(root, module string) (string, error) {
	cmd := exec.CommandContext(context.Background(), "go", "list", "-mod=mod", "-m", "-f", "{{.Dir}}", module)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK=off") // -mod=mod is refused in a workspace
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("locate module %s: %w", module, err)
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		return "", fmt.Errorf("locate module %s: it is not in the module cache, run go mod download", module)
	}
	return dir, nil
}
