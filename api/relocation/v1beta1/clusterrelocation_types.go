package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// Name is that of the only object: it is about the cluster that it is in.
	Name = "cluster"
	// Finalizer holds a deleted object until every original is back.
	Finalizer = "relocation.lca.openshift.io/originals"

	// ConditionReady says whether the object can be carried out as it is written.
	ConditionReady = "Ready"
	// ConditionReconciled says whether all of it is in place. Each part has a condition of its own beside it.
	ConditionReconciled = "Reconciled"
)

// ClusterRelocation brings a running cluster to what its site wants, without a reboot where that can be done.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusterrelocations,scope=Cluster
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'cluster'",message="there is one ClusterRelocation, and its name is cluster"
// +kubebuilder:printcolumn:name="Domain",type=string,JSONPath=`.spec.domain`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reconciled",type=string,JSONPath=`.status.conditions[?(@.type=="Reconciled")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Reconciled")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Reconciled")].message`
type ClusterRelocation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterRelocationSpec `json:"spec,omitempty"`
	// +kubebuilder:default:={"observedGeneration":-1}
	Status ClusterRelocationStatus `json:"status,omitempty"`
}

// ClusterRelocationSpec is what the site wants. What is left out stays as it is, or gets its original back.
type ClusterRelocationSpec struct {
	// domain is the base domain by which the cluster is reached: api.DOMAIN and *.apps.DOMAIN.
	Domain string `json:"domain"`
	// acmRegistration registers the cluster with its hub.
	ACMRegistration *ACMRegistration `json:"acmRegistration,omitempty"`
	// addInternalDNSEntries asks for entries of the domain in the node's own DNS server. A running node's are part of its
	// address change (IPConfig); the status says so.
	AddInternalDNSEntries *bool `json:"addInternalDNSEntries,omitempty"`
	// apiCertRef is a TLS secret with a certificate for api.DOMAIN. Without it one is issued by the cluster's own signer.
	APICertRef *SecretReference `json:"apiCertRef,omitempty"`
	// ingressCertRef is a TLS secret with a certificate for *.apps.DOMAIN. Without it one is issued by the router's own signer.
	IngressCertRef *SecretReference `json:"ingressCertRef,omitempty"`
	// catalogSources are catalogs of operators.
	CatalogSources []CatalogSource `json:"catalogSources,omitempty"`
	// imageDigestMirrors are mirrors of images by digest.
	ImageDigestMirrors []ImageDigestMirrors `json:"imageDigestMirrors,omitempty"`
	// pullSecretRef is a secret with the cluster's pull secret (.dockerconfigjson).
	PullSecretRef *SecretReference `json:"pullSecretRef,omitempty"`
	// registryCert is a registry's certificate authority.
	RegistryCert *RegistryCert `json:"registryCert,omitempty"`
	// sshKeys are public keys for the user core.
	SSHKeys []string `json:"sshKeys,omitempty"`
}

// SecretReference names a secret.
type SecretReference struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// ACMRegistration is a hub and how the cluster is registered there.
type ACMRegistration struct {
	// url of the hub's API.
	URL string `json:"url"`
	// clusterName is the name of the ManagedCluster.
	ClusterName string `json:"clusterName"`
	// managedClusterSet that the cluster joins.
	ManagedClusterSet *string `json:"managedClusterSet,omitempty"`
	// acmSecret holds token and ca.crt for the hub.
	ACMSecret SecretReference `json:"acmSecret"`
	// klusterletAddonConfig is the spec of a KlusterletAddonConfig.
	// +kubebuilder:pruning:PreserveUnknownFields
	KlusterletAddonConfig *runtime.RawExtension `json:"klusterletAddonConfig,omitempty"`
}

// CatalogSource is a catalog of operators.
type CatalogSource struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// ImageDigestMirrors are mirrors of one source, as in config.openshift.io/v1.
type ImageDigestMirrors struct {
	Source  string   `json:"source"`
	Mirrors []string `json:"mirrors,omitempty"`
	// +kubebuilder:validation:Enum=NeverContactSource;AllowContactingSource
	MirrorSourcePolicy string `json:"mirrorSourcePolicy,omitempty"`
}

// RegistryCert is a registry's certificate authority.
type RegistryCert struct {
	RegistryHostname string `json:"registryHostname"`
	RegistryPort     string `json:"registryPort,omitempty"`
	// certificate is PEM.
	Certificate string `json:"certificate"`
}

// ClusterRelocationStatus is what became of it.
type ClusterRelocationStatus struct {
	// observedGeneration is the generation that the status is of; -1 before the operator has seen the object.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready, Reconciled, and one for each part.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ClusterRelocationList is a list of ClusterRelocations.
//
// +kubebuilder:object:root=true
type ClusterRelocationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterRelocation `json:"items"`
}
