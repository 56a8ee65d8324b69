package cluster

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	openshiftAPI     = "github.com/openshift/api"
	openshiftCRDGlob = "*/*/zz_generated.crd-manifests/*.crd.yaml"
	productCRDGlob   = "config/crd/bases/*.yaml"
	productRBACGlob  = "config/rbac/*/*.yaml"
)

// sources are the files of others that end up in the cluster, and a hash over what they are.
type sources struct {
	crds []string // OpenShift's and the product's CRDs
	rbac []string // the product's roles
	sum  string
}

// findSources looks in OpenShift's API module and in the product's config folder; moduleDir is the product's module.
func findSources(ctx context.Context, moduleDir string) (sources, error) {
	dir, err := openshiftAPIDir(ctx, moduleDir)
	if err != nil {
		return sources{}, err
	}
	// The patterns are constants, so Glob has nothing to complain about.
	openshift, _ := filepath.Glob(filepath.Join(dir, openshiftCRDGlob))
	product, _ := filepath.Glob(filepath.Join(moduleDir, productCRDGlob))
	rbac, _ := filepath.Glob(filepath.Join(moduleDir, productRBACGlob))
	hash := sha256.New()
	// A module's directory carries its version, and a version's content never changes.
	fmt.Fprintln(hash, filepath.Base(dir))
	for _, file := range append(slices.Clone(product), rbac...) {
		if err := hashFile(hash, moduleDir, file); err != nil {
			return sources{}, fmt.Errorf("hash the product's manifests: %w", err)
		}
	}
	return sources{crds: append(openshift, product...), rbac: rbac, sum: fmt.Sprintf("%x", hash.Sum(nil))}, nil
}

func openshiftAPIDir(ctx context.Context, moduleDir string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", openshiftAPI)
	cmd.Dir = moduleDir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("locate the module %s: %w", openshiftAPI, err)
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		return "", fmt.Errorf("locate the module %s: not downloaded (go mod download %s)", openshiftAPI, openshiftAPI)
	}
	return dir, nil
}
