package machineconfig

import (
	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Disruption is the part of a cluster's MachineConfiguration that says what an update of files does to a node. OpenShift's own type
// has fields that are written also where they are empty, and its definition refuses them then.
type Disruption struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		NodeDisruptionPolicy struct {
			Files []operatorv1.NodeDisruptionPolicySpecFile `json:"files"`
		} `json:"nodeDisruptionPolicy"`
	} `json:"spec"`
}

// NodeDisruptionPolicy lets documents change without a drain or a reboot. It is the machine config operator's own default where that
// knows node disruption policies (OpenShift 4.17 and later); it is rendered for clusters whose administrator has set another.
func NodeDisruptionPolicy() Disruption {
	d := Disruption{TypeMeta: metav1.TypeMeta{APIVersion: operatorv1.GroupVersion.String(), Kind: "MachineConfiguration"}}
	d.Metadata.Name = "cluster"
	d.Spec.NodeDisruptionPolicy.Files = []operatorv1.NodeDisruptionPolicySpecFile{{
		Path: DisruptionPath, Actions: []operatorv1.NodeDisruptionPolicySpecAction{{Type: operatorv1.NoneSpecAction}},
	}}
	return d
}
