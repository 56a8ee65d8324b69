package cluster

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// AddToScheme registers every typed kind that this package reads. Kinds of
// optional operators (SR-IOV, OADP, OLM) are read without types.
func AddToScheme(scheme *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, configv1.Install, mcv1.Install} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("register cluster kinds: %w", err)
		}
	}
	return nil
}
