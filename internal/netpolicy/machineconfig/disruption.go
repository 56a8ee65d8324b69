package machineconfig

import (
	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeDisruptionPolicy is the part of the cluster's MachineConfiguration that lets documents change without a drain or a reboot. It is
// the machine config operator's own default where that knows node disruption policies (OpenShift 4.17 and later); it is rendered for
// clusters whose administrator has set another.
func NodeDisruptionPolicy() *operatorv1.MachineConfiguration {
	return &operatorv1.MachineConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: operatorv1.GroupVersion.String(), Kind: "MachineConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Spec: operatorv1.MachineConfigurationSpec{NodeDisruptionPolicy: operatorv1.NodeDisruptionPolicyConfig{
			Files: []operatorv1.NodeDisruptionPolicySpecFile{{
				Path:    DisruptionPath,
				Actions: []operatorv1.NodeDisruptionPolicySpecAction{{Type: operatorv1.NoneSpecAction}},
			}},
		}},
	}
}
