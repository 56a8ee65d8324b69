// Package health has the checks by which Argo CD tells the health of this product's objects: Progressing, Healthy, Degraded
// or Suspended, by their conditions. Each is a Lua script that uses no library, as Argo CD runs them.
//
// The verb "fleet" prints them as the ConfigMap that Argo CD reads; the package does no I/O.
package health

import (
	"embed"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	relocation "github.com/lifecycle-agent/lifecycle-agent/api/relocation/v1beta1"
)

//go:embed scripts
var scripts embed.FS

// Check is the check of one kind.
type Check struct{ Group, Kind, Script string }

// Checks are those of all kinds, in the order of the documentation.
func Checks() ([]Check, error) {
	out := []Check{
		{Group: lcav1.GroupVersion.Group, Kind: "IPConfig", Script: "ipconfig"},
		{Group: lcav1.GroupVersion.Group, Kind: "SeedGenerator", Script: "seedgenerator"},
		{Group: nmstatev1.GroupVersion.Group, Kind: "NodeNetworkConfigurationPolicy", Script: "nodenetworkconfigurationpolicy"},
		{Group: relocation.GroupVersion.Group, Kind: "ClusterRelocation", Script: "clusterrelocation"},
		{Group: metal3.GroupVersion.Group, Kind: "IPPool", Script: "ippool"},
	}
	for i := range out {
		text, err := scripts.ReadFile("scripts/" + out[i].Script + ".lua")
		if err != nil {
			return nil, fmt.Errorf("read the health check of %s: %w", out[i].Kind, err)
		}
		out[i].Script = string(text)
	}
	return out, nil
}

// ConfigMap is argocd-cm with the checks, to be applied on the server's side: Argo CD's other settings stay.
func ConfigMap(namespace string) (corev1.ConfigMap, error) {
	checks, err := Checks()
	if err != nil {
		return corev1.ConfigMap{}, err
	}
	out := corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "argocd-cm", Namespace: namespace,
			Labels: map[string]string{"app.kubernetes.io/part-of": "argocd"}},
		Data: map[string]string{},
	}
	for _, c := range checks {
		out.Data[fmt.Sprintf("resource.customizations.health.%s_%s", c.Group, c.Kind)] = c.Script
	}
	return out, nil
}
