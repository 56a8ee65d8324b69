package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SeedGeneratorStatus is what the agent observes and what lca-cli's journal says. Only the agent writes it. It carries
// no validation rules beyond types, so that no observation can be refused.
type SeedGeneratorStatus struct {
	// ObservedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Phase is where the generation stands.
	// +optional
	Phase SeedGeneratorPhase `json:"phase,omitempty"`

	// StartedAt is when the generation was accepted.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// CompletedAt is when it ended, in success or failure.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`

	// Conditions report what the agent is doing. The last one is about the generation; the list is replaced as a
	// whole so that the order is kept.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// OperationID names the generation that is running or was the last to run. It is the same in the journal, the logs
	// and the files on the node.
	// +optional
	OperationID string `json:"operationID,omitempty"`

	// Step is the place of the phase among all phases.
	// +optional
	Step *StepStatus `json:"step,omitempty"`

	// ImagerStep is the step of lca-cli that is running, or at which it stopped.
	// +optional
	ImagerStep *StepStatus `json:"imagerStep,omitempty"`

	// Preflight lists what was checked before anything was changed.
	// +listType=atomic
	// +optional
	Preflight []PreflightCheck `json:"preflight,omitempty"`

	// Image is the image that was published.
	// +optional
	Image *SeedImageStatus `json:"image,omitempty"`

	// Secrets says what the search of the image for secrets found. It has no part of a value.
	// +optional
	Secrets *SeedSecretsStatus `json:"secrets,omitempty"`

	// Hub is the hub that the cluster was detached from.
	// +optional
	Hub *SeedHubStatus `json:"hub,omitempty"`

	// History records when the phases of the latest generation started and ended.
	// +listType=atomic
	// +optional
	History []PhaseHistory `json:"history,omitempty"`

	// Evidence lists paths on the node where the journal and, after a failure, the collected logs are kept.
	// +listType=atomic
	// +optional
	Evidence []string `json:"evidence,omitempty"`
}

// SeedImageStatus describes a published image.
type SeedImageStatus struct {
	// PullSpec is the image by digest.
	// +optional
	PullSpec string `json:"pullSpec,omitempty"`

	// Digest of the image's manifest.
	// +optional
	Digest string `json:"digest,omitempty"`

	// SizeBytes is the size of the image, compressed, in bytes.
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty"`

	// ReusedBytes is how much of it the registry had already, in bytes.
	// +optional
	ReusedBytes int64 `json:"reusedBytes,omitempty"`

	// Signed says that the image was signed.
	// +optional
	Signed bool `json:"signed,omitempty"`

	// TagUnread says that the registry did not let the account read the tag before the image was published, so that it
	// is not known whether another image had it.
	// +optional
	TagUnread bool `json:"tagUnread,omitempty"`

	// Layers of the image, in order.
	// +listType=atomic
	// +optional
	Layers []SeedImageLayer `json:"layers,omitempty"`
}

// SeedImageLayer is one layer of a published image.
type SeedImageLayer struct {
	// Name says what the layer holds.
	// +optional
	Name string `json:"name,omitempty"`

	// Digest of the compressed layer.
	// +optional
	Digest string `json:"digest,omitempty"`

	// SizeBytes is its size, compressed, in bytes.
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty"`

	// Reused says that the registry had it already.
	// +optional
	Reused bool `json:"reused,omitempty"`
}

// SeedSecretsStatus counts the secrets that were found by what became of them, and lists the first of them. The whole list is
// in the image (seed-secrets.json) and on the node.
type SeedSecretsStatus struct {
	// Objects and Files are how many were examined.
	// +optional
	Objects int32 `json:"objects,omitempty"`
	// +optional
	Files int32 `json:"files,omitempty"`

	// Removed are in no image.
	// +optional
	Removed int32 `json:"removed,omitempty"`

	// Renewed were made for the image; the seed does not have them.
	// +optional
	Renewed int32 `json:"renewed,omitempty"`

	// Kept ship on purpose.
	// +optional
	Kept int32 `json:"kept,omitempty"`

	// Allowed ship because spec.secretDecisions says so.
	// +optional
	Allowed int32 `json:"allowed,omitempty"`

	// Refused need a decision: the image is not published.
	// +optional
	Refused int32 `json:"refused,omitempty"`

	// Found are the first of them, those that need a decision first.
	// +listType=atomic
	// +optional
	Found []SeedSecretFound `json:"found,omitempty"`
}

// SeedSecretFound is a place where a secret was found.
type SeedSecretFound struct {
	// Object is the object, Key the place in it.
	// +optional
	Object string `json:"object,omitempty"`
	// +optional
	Key string `json:"key,omitempty"`

	// Path is the file.
	// +optional
	Path string `json:"path,omitempty"`

	// Rule is the rule that found it.
	// +optional
	Rule string `json:"rule,omitempty"`

	// Decision is what became of it: removed, kept, allowed or refused.
	// +optional
	Decision string `json:"decision,omitempty"`

	// Reason is why.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// SeedHubStatus names a hub and the cluster on it.
type SeedHubStatus struct {
	// Server is the address of the hub's API.
	// +optional
	Server string `json:"server,omitempty"`

	// ManagedCluster is the name of this cluster on the hub.
	// +optional
	ManagedCluster string `json:"managedCluster,omitempty"`
}
