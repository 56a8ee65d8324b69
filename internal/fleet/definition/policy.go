package definition

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// API versions of the objects.
const (
	PolicyAPI  = "policy.open-cluster-management.io/v1"
	ClusterAPI = "cluster.open-cluster-management.io/v1beta1"
)

// Values of a policy.
const (
	Inform   = "inform"
	MustHave = "musthave"
)

// Policy is policy.open-cluster-management.io/v1 Policy.
type Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              PolicySpec `json:"spec"`
}

// PolicySpec of a Policy.
type PolicySpec struct {
	Disabled          bool             `json:"disabled"`
	RemediationAction string           `json:"remediationAction"`
	PolicyTemplates   []PolicyTemplate `json:"policy-templates"`
}

// PolicyTemplate holds one ConfigurationPolicy.
type PolicyTemplate struct {
	ObjectDefinition ConfigurationPolicy `json:"objectDefinition"`
}

// ConfigurationPolicy says what a cluster must have.
type ConfigurationPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ConfigurationPolicySpec `json:"spec"`
}

// ConfigurationPolicySpec of a ConfigurationPolicy.
type ConfigurationPolicySpec struct {
	RemediationAction string           `json:"remediationAction"`
	Severity          string           `json:"severity"`
	ObjectTemplates   []ObjectTemplate `json:"object-templates"`
}

// ObjectTemplate is one object and how it is compared.
type ObjectTemplate struct {
	ComplianceType   string          `json:"complianceType"`
	ObjectDefinition json.RawMessage `json:"objectDefinition"`
}

// PlacementBinding binds policies to a placement.
type PlacementBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	PlacementRef      Reference   `json:"placementRef"`
	Subjects          []Reference `json:"subjects"`
}

// Reference names an object of the same namespace.
type Reference struct {
	APIGroup string `json:"apiGroup"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

// Placement selects clusters.
type Placement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              PlacementSpec `json:"spec"`
}

// PlacementSpec of a Placement.
type PlacementSpec struct {
	Predicates       []Predicate       `json:"predicates"`
	Tolerations      []Toleration      `json:"tolerations,omitempty"`
	DecisionStrategy *DecisionStrategy `json:"decisionStrategy,omitempty"`
}

// Predicate is one way for a cluster to be selected.
type Predicate struct {
	RequiredClusterSelector Selector `json:"requiredClusterSelector"`
}

// Selector selects clusters by their labels.
type Selector struct {
	LabelSelector metav1.LabelSelector `json:"labelSelector"`
}

// Toleration keeps clusters selected that have a taint.
type Toleration struct {
	Key      string `json:"key"`
	Operator string `json:"operator"`
}

// DecisionStrategy divides the selected clusters into groups.
type DecisionStrategy struct {
	GroupStrategy GroupStrategy `json:"groupStrategy"`
}

// GroupStrategy of a DecisionStrategy.
type GroupStrategy struct {
	DecisionGroups []DecisionGroup `json:"decisionGroups"`
}

// DecisionGroup is a named group of clusters.
type DecisionGroup struct {
	GroupName            string   `json:"groupName"`
	GroupClusterSelector Selector `json:"groupClusterSelector"`
}
