package v1alpha1

import (
	"net/netip"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// LockName is the only name that the lock of an address on a network may have: two controllers that
// want the same address therefore want to create the same object, and the API server lets one of them.
func LockName(network string, address netip.Addr) string {
	text := address.Unmap().StringExpanded()
	return network + "." + strings.ReplaceAll(text, ":", "-")
}

// LockState says what keeps others from the address.
//
// +kubebuilder:validation:Enum=Held;Quarantined;Reserved
type LockState string

// Values of LockState.
const (
	// LockHeld belongs to a claim.
	LockHeld LockState = "Held"
	// LockQuarantined is kept back until a time.
	LockQuarantined LockState = "Quarantined"
	// LockReserved is kept for a host.
	LockReserved LockState = "Reserved"
)

// PoolReference names the pool that an address was taken from.
type PoolReference struct {
	// +required
	Namespace string `json:"namespace"`
	// +required
	Name string `json:"name"`
}

// ClaimReference names the claim that holds an address.
type ClaimReference struct {
	// +required
	APIGroup string `json:"apiGroup"`
	// +required
	Kind string `json:"kind"`
	// +required
	Namespace string `json:"namespace"`
	// +required
	Name string `json:"name"`
	// UID distinguishes the claim from a later one of the same name.
	// +required
	UID types.UID `json:"uid"`
}

// AddressLockSpec says which address is locked, and for whom.
//
// +kubebuilder:validation:XValidation:rule="self.network == oldSelf.network && self.address == oldSelf.address",reason=FieldValueForbidden,message="a lock stays with its address"
// +kubebuilder:validation:XValidation:rule="self.state != 'Held' || has(self.claim)",fieldPath=".claim",message="a lock that is held names its claim"
// +kubebuilder:validation:XValidation:rule="self.state != 'Quarantined' || has(self.until)",fieldPath=".until",message="a quarantine ends at a time"
// +kubebuilder:validation:XValidation:rule="self.state != 'Reserved' || has(self.host)",fieldPath=".host",message="a reservation is for a host"
// +kubebuilder:validation:XValidation:rule="!has(self.until) || self.until > timestamp('1970-01-01T00:00:00Z')",fieldPath=".until",message="until must be a time such as 2026-01-31T12:00:00Z"
type AddressLockSpec struct {
	// Network is the network that the address is on; that of a namespace is named <namespace>.namespace.
	// +kubebuilder:validation:MaxLength=73
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.namespace)?$`
	// +required
	Network string `json:"network"`

	// Address is the locked address, in canonical form.
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip.isCanonical(self)",message="must be an address in canonical form"
	// +required
	Address string `json:"address"`

	// State says what keeps others from the address.
	// +required
	State LockState `json:"state"`

	// Pool is where the address was taken from.
	// +required
	Pool PoolReference `json:"pool"`

	// Claim holds the address, or held it last.
	// +optional
	Claim *ClaimReference `json:"claim,omitempty"`

	// AddressName is the IPAddress object that is made for the claim, of the kind that belongs to the claim's.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	AddressName string `json:"addressName,omitempty"`

	// Host is the host that the address is for.
	// +kubebuilder:validation:MaxLength=317
	// +optional
	Host string `json:"host,omitempty"`

	// Until is when a quarantine ends.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// AddressLock keeps one address of one network from being allocated twice.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=addresslocks,scope=Cluster,shortName=iplock
// +kubebuilder:selectablefield:JSONPath=`.spec.state`
// +kubebuilder:printcolumn:name="Network",type="string",JSONPath=".spec.network"
// +kubebuilder:printcolumn:name="Address",type="string",JSONPath=".spec.address"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".spec.state"
// +kubebuilder:printcolumn:name="Owner Namespace",type="string",JSONPath=".spec.claim.namespace"
// +kubebuilder:printcolumn:name="Owner",type="string",JSONPath=".spec.claim.name"
// +kubebuilder:printcolumn:name="Host",type="string",JSONPath=".spec.host",priority=1
// +kubebuilder:printcolumn:name="Pool",type="string",JSONPath=".spec.pool.name"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.startsWith(self.spec.network + '.') && (self.spec.address.contains(':') || self.metadata.name == self.spec.network + '.' + self.spec.address)",message="the name of a lock is made of its network and its address"
type AddressLock struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec says who has the address.
	// +required
	Spec AddressLockSpec `json:"spec"`
}

// AddressLockList is a list of AddressLock.
//
// +kubebuilder:object:root=true
type AddressLockList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AddressLock `json:"items"`
}
