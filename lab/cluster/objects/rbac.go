package objects

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// operatorNamespace is where the product runs.
const operatorNamespace = "openshift-lifecycle-agent"

// LoadRBAC reads the product's roles and bindings; namespaced objects without a namespace go to the operator's, as kustomize
// would put them.
func LoadRBAC(files []string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a role: %w", err)
		}
		list, err := parseObjects(text)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", filepath.Base(file), err)
		}
		for _, obj := range list {
			switch obj.GetKind() {
			case "Role", "RoleBinding", "ServiceAccount":
				if obj.GetNamespace() == "" {
					obj.SetNamespace(operatorNamespace)
				}
			case "ClusterRole", "ClusterRoleBinding":
			default:
				continue // kustomization.yaml
			}
			out = append(out, obj)
		}
	}
	return out, nil
}
