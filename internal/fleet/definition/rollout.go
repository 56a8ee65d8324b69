package definition

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RolloutAPI is the API version of the Topology Aware Lifecycle Manager.
const RolloutAPI = "ran.openshift.io/v1alpha1"

// ClusterGroupUpgrade is ran.openshift.io/v1alpha1 ClusterGroupUpgrade: it enforces policies in batches.
type ClusterGroupUpgrade struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ClusterGroupUpgradeSpec `json:"spec"`
}

// ClusterGroupUpgradeSpec of a ClusterGroupUpgrade.
type ClusterGroupUpgradeSpec struct {
	BatchTimeoutAction  string              `json:"batchTimeoutAction"`
	BlockingCRs         []BlockingCR        `json:"blockingCRs,omitempty"`
	Clusters            []string            `json:"clusters"`
	Enable              bool                `json:"enable"`
	ManagedPolicies     []string            `json:"managedPolicies"`
	RemediationStrategy RemediationStrategy `json:"remediationStrategy"`
}

// BlockingCR is a roll-out that has to complete before.
type BlockingCR struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// RemediationStrategy is the size and order of batches; the timeout is in minutes, for all of them together.
type RemediationStrategy struct {
	Canaries       []string `json:"canaries,omitempty"`
	MaxConcurrency int      `json:"maxConcurrency"`
	Timeout        int      `json:"timeout"`
}
