package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SeedGeneratorName is the only name that a SeedGenerator may have.
const SeedGeneratorName = "seedimage"

// The Secret that a generation needs, in the namespace of the agent, and its keys.
const (
	// SeedSecretName is the Secret with the credentials for the registry and the hub.
	SeedSecretName = "seedgen"

	// SeedSecretAuthKey is a containers auth.json file with write access to the registry.
	SeedSecretAuthKey = "seedAuth"

	// SeedSecretHubKey is a kubeconfig with the right to delete and create the ManagedCluster
	// of this cluster on its hub. It is optional.
	SeedSecretHubKey = "hubKubeconfig"
)

// SeedSigningSecretName is the Secret with a signing key that the agent may read without further rights.
const SeedSigningSecretName = "seedgen-signing"

// Types of the conditions in SeedGenerator.status.conditions. The last one is the most recent of those about the
// generation; HubDetached, and NodeObserved where observation has failed, stand before them.
const (
	// ConditionSeedGenInProgress is True while an image is generated, and while the cluster is given back to its hub.
	ConditionSeedGenInProgress = "SeedGenInProgress"

	// ConditionSeedGenCompleted is True when an image has been published and the cluster is as before; False when
	// the generation failed.
	ConditionSeedGenCompleted = "SeedGenCompleted"

	// ConditionHubDetached is True while the agent keeps the cluster detached from its hub; False when the hub
	// manages it again. It is absent where no hub is involved.
	ConditionHubDetached = "HubDetached"
)

// Reasons of the condition HubDetached.
const (
	// ReasonDetaching goes with HubDetached=False while the ManagedCluster is being deleted.
	ReasonDetaching = "Detaching"

	// ReasonDetached goes with HubDetached=True.
	ReasonDetached = "Detached"

	// ReasonReattaching goes with HubDetached=True while the ManagedCluster is restored but not yet Available.
	ReasonReattaching = "Reattaching"

	// ReasonReattached goes with HubDetached=False when the hub manages the cluster again.
	ReasonReattached = "Reattached"

	// ReasonReimported goes with HubDetached=False when someone else imported the cluster while it was detached.
	ReasonReimported = "Reimported"

	// ReasonNotReattached goes with HubDetached=True when the agent gave up: the cluster has to be imported by hand.
	ReasonNotReattached = "NotReattached"
)

// SeedGeneratorPhase is where a generation stands.
//
// +kubebuilder:validation:Enum=Checking;Stabilizing;Detaching;Preparing;Imaging;Restoring;Completed;Failed
type SeedGeneratorPhase string

// Phases of a generation, in order.
const (
	// SeedChecking makes the preflight checks. Nothing has been changed.
	SeedChecking SeedGeneratorPhase = "Checking"

	// SeedStabilizing waits for a healthy cluster. Nothing has been changed.
	SeedStabilizing SeedGeneratorPhase = "Stabilizing"

	// SeedDetaching detaches the cluster from its hub.
	SeedDetaching SeedGeneratorPhase = "Detaching"

	// SeedPreparing reads what the image says of the cluster, and writes request and credentials to the node.
	SeedPreparing SeedGeneratorPhase = "Preparing"

	// SeedImaging is lca-cli's: stop the cluster for a copy, start it, remove from the copy what must not ship, publish.
	SeedImaging SeedGeneratorPhase = "Imaging"

	// SeedRestoring gives the cluster back to its hub and waits for its health, after success and after failure.
	SeedRestoring SeedGeneratorPhase = "Restoring"

	// SeedCompleted is the end after success.
	SeedCompleted SeedGeneratorPhase = "Completed"

	// SeedFailed is the end after a failure. Annotation lca.openshift.io/trigger-reconcile, or another spec, starts
	// a new generation.
	SeedFailed SeedGeneratorPhase = "Failed"
)

// SeedGenerator makes an image of this single-node cluster, from which other nodes are installed or upgraded. There is
// exactly one, named "seedimage".
// ---
// The rule about the spec needs the status and therefore sits on the object itself, where it is evaluated for every
// update: it compares with the old object and lets an unchanged spec pass.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:path=seedgenerators,scope=Cluster,shortName=seedgen
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.conditions[-1:].type"
// +kubebuilder:printcolumn:name="Details",type="string",JSONPath=".status.conditions[-1:].message"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",priority=1
// +kubebuilder:printcolumn:name="Image",type="string",JSONPath=".spec.seedImage",priority=1
// +kubebuilder:printcolumn:name="Digest",type="string",JSONPath=".status.image.digest",priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'seedimage'",message="SeedGenerator is a singleton: metadata.name must be 'seedimage'; rename the object or edit the existing one"
// +kubebuilder:validation:XValidation:rule=`self.spec == oldSelf.spec || oldSelf.?status.?phase.orValue("") in ["Completed", "Failed"]`,fieldPath=".spec",reason=FieldValueForbidden,message="cannot modify spec while a seed image is being generated; wait until status.phase is Completed or Failed, or delete the SeedGenerator and create it again"
type SeedGenerator struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the image to generate.
	// +required
	Spec SeedGeneratorSpec `json:"spec"`

	// Status is what the agent observes and does.
	// +kubebuilder:default:={"observedGeneration":-1}
	// +optional
	Status SeedGeneratorStatus `json:"status,omitempty"`
}

// SeedGeneratorList is a list of SeedGenerator.
//
// +kubebuilder:object:root=true
type SeedGeneratorList struct {
	metav1.TypeMeta `json:",inline"`

	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items holds at most one SeedGenerator.
	Items []SeedGenerator `json:"items"`
}

// SeedGeneratorSpec says what image to generate. It cannot be changed while a generation runs; a change after its end
// starts another one.
type SeedGeneratorSpec struct {
	// SeedImage is the pull specification (registry/repository:tag) under which the image is published.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('[[:space:]]')",message="spec.seedImage must be a pull specification without white space, for example registry.example.com/seeds/sno:4.20.3"
	// +kubebuilder:validation:XValidation:rule="!self.contains('@')",message="spec.seedImage must name a tag, not a digest: the digest is known after the image is made; write registry/repository:tag"
	// +required
	SeedImage string `json:"seedImage"`

	// RecertImage selects the container engine for recert and names the image (a pull specification) that it runs.
	// Without it recert runs in lca-cli, which needs no image.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('[[:space:]]')",message="spec.recertImage must be a pull specification without white space; correct it or leave it out"
	// +optional
	RecertImage string `json:"recertImage,omitempty"`

	// SigningSecret names a Secret in the agent's namespace with a signing key as "cosign generate-key-pair" makes it
	// (keys cosign.key and cosign.password). With it the image is signed; without it, it is not. The agent may read
	// the Secret "seedgen-signing"; another name needs a Role of its own.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="spec.signingSecret must be the name of a Secret"
	// +optional
	SigningSecret string `json:"signingSecret,omitempty"`

	// SecretDecisions are decisions about secrets that the search of the image finds. What is found and neither removed
	// by itself nor decided about here refuses the image; status.secrets lists it.
	//
	// +kubebuilder:validation:MaxItems=200
	// +listType=atomic
	// +optional
	SecretDecisions []SecretDecision `json:"secretDecisions,omitempty"`
}

// SecretDecisionKind is what becomes of a secret that is found.
//
// +kubebuilder:validation:Enum=Keep;Remove
type SecretDecisionKind string

// Decisions about a secret that is found.
const (
	// SecretKeep ships it with the image.
	SecretKeep SecretDecisionKind = "Keep"

	// SecretRemove puts a placeholder in its place, or removes the file.
	SecretRemove SecretDecisionKind = "Remove"
)

// SecretDecision says what becomes of secrets that are found in a place. It names an object or a path.
//
// +kubebuilder:validation:XValidation:rule="has(self.object) != has(self.path)",message="a secret decision needs object or path, and not both"
// +kubebuilder:validation:XValidation:rule="!has(self.key) || has(self.object)",message="a secret decision has key only with object"
type SecretDecision struct {
	// Object is the object as status.secrets shows it: resource/namespace/name, or group/resource/namespace/name; for
	// example "secrets/app/db". The wildcards * and ? stand for characters of one step.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Object string `json:"object,omitempty"`

	// Key is a key of the object's data, with the same wildcards. Without it all of the object is meant.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Key string `json:"key,omitempty"`

	// Path is a file of the node, with the same wildcards. A path that ends with "/**" means all files below it.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="path of a secret decision must be absolute, for example /etc/app/*.conf"
	// +optional
	Path string `json:"path,omitempty"`

	// Decision is Keep or Remove.
	//
	// +required
	Decision SecretDecisionKind `json:"decision"`

	// Reason is why; it is in the report that ships with the image.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Reason string `json:"reason"`
}
