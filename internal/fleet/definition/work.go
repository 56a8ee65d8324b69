package definition

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// API versions of the objects.
const (
	WorkAPI       = "work.open-cluster-management.io/v1"
	ReplicaSetAPI = "work.open-cluster-management.io/v1alpha1"
)

// ManifestWork is work.open-cluster-management.io/v1 ManifestWork: objects for one cluster, in the namespace of its name.
type ManifestWork struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              WorkSpec `json:"spec"`
}

// ManifestWorkReplicaSet makes the same ManifestWork for every cluster of a placement.
type ManifestWorkReplicaSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ReplicaSetSpec `json:"spec"`
}

// ReplicaSetSpec of a ManifestWorkReplicaSet.
type ReplicaSetSpec struct {
	ManifestWorkTemplate WorkSpec       `json:"manifestWorkTemplate"`
	PlacementRefs        []PlacementRef `json:"placementRefs"`
}

// PlacementRef names a placement and says in which order its clusters are changed.
type PlacementRef struct {
	Name            string          `json:"name"`
	RolloutStrategy RolloutStrategy `json:"rolloutStrategy"`
}

// RolloutStrategy is a progressive one.
type RolloutStrategy struct {
	Type        string      `json:"type"`
	Progressive Progressive `json:"progressive"`
}

// Progressive goes on when clusters have succeeded.
type Progressive struct {
	MandatoryDecisionGroups []MandatoryGroup `json:"mandatoryDecisionGroups,omitempty"`
	MaxConcurrency          int              `json:"maxConcurrency"`
	MaxFailures             int              `json:"maxFailures"`
	MinSuccessTime          string           `json:"minSuccessTime"`
	ProgressDeadline        string           `json:"progressDeadline"`
}

// MandatoryGroup goes first and must not fail.
type MandatoryGroup struct {
	GroupName string `json:"groupName"`
}

// WorkSpec is what is brought to a cluster.
type WorkSpec struct {
	DeleteOption    DeleteOption     `json:"deleteOption"`
	ManifestConfigs []ManifestConfig `json:"manifestConfigs"`
	Workload        Workload         `json:"workload"`
}

// DeleteOption says what becomes of the objects when the work is deleted.
type DeleteOption struct {
	PropagationPolicy string `json:"propagationPolicy"`
}

// Workload lists the objects.
type Workload struct {
	Manifests []json.RawMessage `json:"manifests"`
}

// ManifestConfig says how one object is written and read.
type ManifestConfig struct {
	ResourceIdentifier ResourceIdentifier `json:"resourceIdentifier"`
	UpdateStrategy     UpdateStrategy     `json:"updateStrategy"`
	ConditionRules     []ConditionRule    `json:"conditionRules"`
	FeedbackRules      []FeedbackRule     `json:"feedbackRules"`
}

// ResourceIdentifier names an object of the work.
type ResourceIdentifier struct {
	Group     string `json:"group"`
	Resource  string `json:"resource"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

// UpdateStrategy is how an object is written.
type UpdateStrategy struct {
	Type            string           `json:"type"`
	ServerSideApply *ServerSideApply `json:"serverSideApply,omitempty"`
}

// ServerSideApply takes fields from other writers where Force is set.
type ServerSideApply struct {
	Force bool `json:"force"`
}

// ConditionRule sets a condition of the work from the object, by expressions of the Common Expression Language.
type ConditionRule struct {
	Condition      string   `json:"condition"`
	Type           string   `json:"type"`
	CelExpressions []string `json:"celExpressions"`
	Message        string   `json:"message,omitempty"`
}

// FeedbackRule brings values of the status back to the hub.
type FeedbackRule struct {
	Type      string     `json:"type"`
	JSONPaths []JSONPath `json:"jsonPaths"`
}

// JSONPath is one value of the status.
type JSONPath struct {
	Name string `json:"name"`
	Path string `json:"path"`
}
