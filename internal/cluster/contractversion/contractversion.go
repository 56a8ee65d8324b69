// Package contractversion finds the version of the Cluster API's claims and addresses that a cluster serves. The operator and kubectl-lca
// call it; lca-cli must not, as discovery links the types of every group of Kubernetes.
package contractversion

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
)

// All are the versions of the Cluster API's claims and addresses that this program can use, the preferred one first.
// In all of them spec and address reference have the same JSON; the types of the newest serve for all.
func All() []string { return []string{capi.GroupVersion.Version, "v1beta1"} }

// Find is the version that an API server serves of those that this program can use; empty where it serves none.
func Find(api discovery.ServerGroupsInterface) (string, error) {
	groups, err := api.ServerGroups()
	if err != nil {
		return "", fmt.Errorf("list the groups of the API: %w", err)
	}
	for _, want := range All() {
		for _, g := range groups.Groups {
			for _, v := range g.Versions {
				if g.Name == capi.GroupVersion.Group && v.Version == want {
					return want, nil
				}
			}
		}
	}
	return "", nil
}

// AddToScheme returns what registers the kinds of the Cluster API's contract in a version. Empty registers the preferred one.
func AddToScheme(version string) func(*runtime.Scheme) error {
	at := schema.GroupVersion{Group: capi.GroupVersion.Group, Version: version}
	if version == "" {
		at = capi.GroupVersion
	}
	return func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(at, &capi.IPAddressClaim{}, &capi.IPAddressClaimList{}, &capi.IPAddress{}, &capi.IPAddressList{})
		metav1.AddToGroupVersion(scheme, at)
		return nil
	}
}
