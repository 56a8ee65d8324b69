package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NamespaceNetwork is the network of the pools of a namespace that name none. No pool can name it: a name has no dot.
func NamespaceNetwork(namespace string) string { return namespace + ".namespace" }

// PoolFinalizer keeps a pool that is being deleted until its last address is back.
const PoolFinalizer = "ippool.ipam.metal3.io"

// Finalizers that metal3's own controller puts on claims and addresses. This one adds neither, but
// takes them off what a former controller left behind.
const (
	ClaimFinalizer   = "ipclaim.ipam.metal3.io"
	AddressFinalizer = "ipaddress.ipam.metal3.io"
)

// Annotations and labels that are read from claims and pools.
const (
	// RequestedAddressAnnotation, on a claim of either kind, asks for one address.
	RequestedAddressAnnotation = "ipAddress"
	// PausedAnnotation, on a pool, a claim, or any object of the Cluster API, pauses its controllers.
	PausedAnnotation = "cluster.x-k8s.io/paused"
	// ClusterNameLabel names the Cluster a pool or claim belongs to.
	ClusterNameLabel = "cluster.x-k8s.io/cluster-name"
	// HostAnnotation, on a claim of either kind, names the host the address is for. A sticky pool gives
	// the same host the same address again.
	HostAnnotation = "ipam.lca.openshift.io/host"
	// NetworkGrantAnnotation, on a pool, lists namespaces, separated by commas, whose pools may use the pool's network too. Only the
	// namespace that the network belongs to can grant it.
	NetworkGrantAnnotation = "ipam.lca.openshift.io/network-for-namespaces"
	// InterfaceLabel, on a claim, names the interface that it is for.
	InterfaceLabel = "ipam.lca.openshift.io/interface"
	// PreRegisteredLabel marks claims and addresses that an installer made in advance.
	PreRegisteredLabel = "ipam.lca.openshift.io/pre-registered"
)

// IPAddressStr is an IPv4 or IPv6 address. It need not be in canonical form.
//
// +kubebuilder:validation:MaxLength=45
// +kubebuilder:validation:XValidation:rule="isIP(self)",message="must be an IPv4 or IPv6 address",messageExpression="'must be an IPv4 or IPv6 address, not ' + self"
type IPAddressStr string

// IPSubnetStr is an IPv4 or IPv6 network in CIDR notation.
//
// +kubebuilder:validation:MaxLength=49
// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="must be a network such as 192.0.2.0/24",messageExpression="'must be a network such as 192.0.2.0/24, not ' + self"
type IPSubnetStr string

// AllocationStrategy says in which order free addresses are allocated.
//
// +kubebuilder:validation:Enum=sequential;random
// +kubebuilder:validation:MaxLength=16
type AllocationStrategy string

// Values of AllocationStrategy.
const (
	SequentialStrategy AllocationStrategy = "sequential"
	RandomStrategy     AllocationStrategy = "random"
)

// Duration is a length of time such as 90s, 30m or 24h. It is text, so that a pool that was stored with another text can still be
// listed: one such pool must not keep the others from being served.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ns|us|ms|s|m|h))+$')",message="must be a duration such as 30m or 24h; a day is 24h",messageExpression="'must be a duration such as 30m or 24h, not ' + self + '; a day is 24h'"
// +kubebuilder:validation:XValidation:rule="!self.matches('[0-9]{7}.*h')",message="must be shorter than 1000000h"
type Duration string

// Pool is one range of addresses: what lies in the subnet, from start to end.
//
// +kubebuilder:validation:XValidation:rule="has(self.start) || has(self.subnet) || has(self.end)",message="a range needs a start, an end or a subnet"
// +kubebuilder:validation:XValidation:rule="!has(self.start) || !has(self.subnet) || !isIP(self.start) || !isCIDR(self.subnet) || cidr(self.subnet).containsIP(self.start)",fieldPath=".start",message="start lies outside subnet",messageExpression="'start ' + self.start + ' lies outside subnet ' + self.subnet"
// +kubebuilder:validation:XValidation:rule="!has(self.end) || !has(self.subnet) || !isIP(self.end) || !isCIDR(self.subnet) || cidr(self.subnet).containsIP(self.end)",fieldPath=".end",message="end lies outside subnet",messageExpression="'end ' + self.end + ' lies outside subnet ' + self.subnet"
// +kubebuilder:validation:XValidation:rule="!has(self.end) || !has(self.start) || !isIP(self.end) || !isIP(self.start) || ip(self.start).family() == ip(self.end).family()",fieldPath=".end",message="start and end are of different families",messageExpression="'start ' + self.start + ' and end ' + self.end + ' are of different families'"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || !isIP(self.gateway) || !has(self.start) || !isIP(self.start) || ip(self.gateway).family() == ip(self.start).family()",fieldPath=".gateway",message="gateway and start are of different families",messageExpression="'gateway ' + self.gateway + ' and start ' + self.start + ' are of different families'"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || !isIP(self.gateway) || !has(self.subnet) || !isCIDR(self.subnet) || ip(self.gateway).family() == cidr(self.subnet).ip().family()",fieldPath=".gateway",message="gateway and subnet are of different families",messageExpression="'gateway ' + self.gateway + ' and subnet ' + self.subnet + ' are of different families'"
// +kubebuilder:validation:XValidation:rule="!has(self.prefix) || self.prefix <= 32 || !((has(self.start) && isIP(self.start) && ip(self.start).family() == 4) || (has(self.subnet) && isCIDR(self.subnet) && cidr(self.subnet).ip().family() == 4))",fieldPath=".prefix",message="a prefix of an IPv4 range is at most 32"
type Pool struct {
	// Start is the first address. Without it the range begins with the subnet: after its network address, or after the address that
	// the host bits of the subnet make. A range with an end alone holds no address.
	// +optional
	Start *IPAddressStr `json:"start,omitempty"`

	// End is the last address. Without it the range ends with the subnet, or with the network that start and prefix make.
	// +optional
	End *IPAddressStr `json:"end,omitempty"`

	// Subnet bounds the range; its network and broadcast addresses are never allocated.
	// +optional
	Subnet *IPSubnetStr `json:"subnet,omitempty"`

	// Prefix is the prefix length of the addresses of this range, instead of the pool's.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=128
	// +optional
	Prefix int `json:"prefix,omitempty"`

	// Gateway of this range, instead of the pool's. It is never allocated.
	// +optional
	Gateway *IPAddressStr `json:"gateway,omitempty"`

	// DNSServers of this range, instead of the pool's.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	DNSServers []IPAddressStr `json:"dnsServers,omitempty"`
}

// Exclusion is an address, a network in CIDR notation, or a range such as 192.0.2.10-192.0.2.19.
//
// +kubebuilder:validation:MaxLength=91
// +kubebuilder:validation:XValidation:rule="isIP(self) || isCIDR(self) || (self.split('-').size() == 2 && isIP(self.split('-')[0].trim()) && isIP(self.split('-')[1].trim()))",message="must be an address, a network or a range",messageExpression="'must be an address, a network such as 192.0.2.0/28 or a range such as 192.0.2.10-192.0.2.19, not ' + self"
type Exclusion string

// DHCPRange is the part of a network that a DHCP server leases.
//
// +kubebuilder:validation:XValidation:rule="!isIP(self.start) || !isIP(self.end) || ip(self.start).family() == ip(self.end).family()",message="start and end of the DHCP range are of different families"
type DHCPRange struct {
	// Start is the first address of the DHCP server.
	// +required
	Start IPAddressStr `json:"start"`

	// End is the last address of the DHCP server.
	// +required
	End IPAddressStr `json:"end"`
}

// IPPoolSpec says which addresses there are, and how they are allocated.
//
// +kubebuilder:validation:XValidation:rule="self.namePrefix == oldSelf.namePrefix",fieldPath=".namePrefix",reason=FieldValueForbidden,message="namePrefix cannot be changed: the names of the addresses allocated begin with it"
// +kubebuilder:validation:XValidation:rule="(has(self.allocationStrategy) ? self.allocationStrategy : 'sequential') == (has(oldSelf.allocationStrategy) ? oldSelf.allocationStrategy : 'sequential')",fieldPath=".allocationStrategy",reason=FieldValueForbidden,message="allocationStrategy cannot be changed"
// +kubebuilder:validation:XValidation:rule="has(self.network) == has(oldSelf.network) && (!has(self.network) || self.network == oldSelf.network)",fieldPath=".network",reason=FieldValueForbidden,message="network cannot be changed: the addresses allocated are locked on it; make a new pool on the other network"
// +kubebuilder:validation:XValidation:rule="!has(self.pools) || self.pools.all(p, self.pools.all(q, !has(p.start) || !has(q.start) || !isIP(p.start) || !isIP(q.start) || ip(p.start).family() == ip(q.start).family()))",fieldPath=".pools",message="the ranges of a pool are of one family: make one pool for IPv4 and one for IPv6"
// +kubebuilder:validation:XValidation:rule="!has(self.pools) || self.pools.all(p, self.pools.all(q, !has(p.subnet) || !has(q.subnet) || !isCIDR(p.subnet) || !isCIDR(q.subnet) || cidr(p.subnet).ip().family() == cidr(q.subnet).ip().family()))",fieldPath=".pools",message="the ranges of a pool are of one family: make one pool for IPv4 and one for IPv6"
// +kubebuilder:validation:XValidation:rule="!has(self.pools) || self.pools.all(p, self.pools.all(q, !has(p.start) || !has(q.subnet) || !isIP(p.start) || !isCIDR(q.subnet) || ip(p.start).family() == cidr(q.subnet).ip().family()))",fieldPath=".pools",message="the ranges of a pool are of one family: make one pool for IPv4 and one for IPv6"
// +kubebuilder:validation:XValidation:rule="!has(self.pools) || !has(self.gateway) || !isIP(self.gateway) || self.pools.all(p, (!has(p.start) || !isIP(p.start) || ip(p.start).family() == ip(self.gateway).family()) && (!has(p.subnet) || !isCIDR(p.subnet) || cidr(p.subnet).ip().family() == ip(self.gateway).family()))",fieldPath=".gateway",message="gateway is of another family than the ranges of the pool"
// +kubebuilder:validation:XValidation:rule="!has(self.pools) || !has(self.dhcpRange) || !isIP(self.dhcpRange.start) || self.pools.all(p, (!has(p.start) || !isIP(p.start) || ip(p.start).family() == ip(self.dhcpRange.start).family()) && (!has(p.subnet) || !isCIDR(p.subnet) || cidr(p.subnet).ip().family() == ip(self.dhcpRange.start).family()))",fieldPath=".dhcpRange",message="dhcpRange is of another family than the ranges of the pool"
type IPPoolSpec struct {
	// ClusterName is the Cluster that the pool belongs to. While that is paused, so is the pool.
	// +optional
	ClusterName *string `json:"clusterName,omitempty"`

	// Pools are the ranges, allocated in this order.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Pools []Pool `json:"pools,omitempty"`

	// PreAllocations keeps addresses for claims, by the name of the claim.
	// +kubebuilder:validation:MaxProperties=4096
	// +optional
	PreAllocations map[string]IPAddressStr `json:"preAllocations,omitempty"`

	// Prefix is the prefix length of the addresses, where a range names none.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=128
	// +optional
	Prefix int `json:"prefix,omitempty"`

	// Gateway of the addresses, where a range names none. It is never allocated.
	// +optional
	Gateway *IPAddressStr `json:"gateway,omitempty"`

	// DNSServers of the addresses, where a range names none.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	DNSServers []IPAddressStr `json:"dnsServers,omitempty"`

	// NamePrefix begins the names of the address objects, and so is made of what names are.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*[-.]?$') && !self.endsWith('.')",message="must begin a name: lower case letters, digits, - and dots",messageExpression="'must begin a name: lower case letters, digits, - and dots, not ' + self"
	// +required
	NamePrefix string `json:"namePrefix"`

	// AllocationStrategy is sequential unless it says random.
	// +optional
	AllocationStrategy AllocationStrategy `json:"allocationStrategy,omitempty"`

	// Network names the network that the addresses are on. An address is allocated once on a network, whatever pools it is in.
	// The pools of a namespace that name none have one of their own. An addition to metal3's type.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	Network string `json:"network,omitempty"`

	// VLAN is the tag with which hosts reach the network. An addition to metal3's type.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	// +optional
	VLAN *int32 `json:"vlan,omitempty"`

	// Exclusions are never allocated: addresses, networks in CIDR notation, or ranges such as
	// 192.0.2.10-192.0.2.19. An addition to metal3's type.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Exclusions []Exclusion `json:"exclusions,omitempty"`

	// DHCPRange is what the network's DHCP server leases. It and the ranges of the pool must not have
	// an address in common. An addition to metal3's type.
	// +optional
	DHCPRange *DHCPRange `json:"dhcpRange,omitempty"`

	// Quarantine is how long an address is kept back after it was released. The release itself does not
	// wait for it. An addition to metal3's type.
	// +optional
	Quarantine Duration `json:"quarantine,omitempty"`

	// Sticky keeps an address for its host after the claim is gone, until the host's object is deleted or
	// sticky is set to false. An addition to metal3's type.
	// +optional
	Sticky bool `json:"sticky,omitempty"`
}

// AddressSpan is the lowest and the highest of some addresses.
type AddressSpan struct {
	First string `json:"first"`
	Last  string `json:"last"`
}

// MaxIndexes is how many addresses status.indexes lists at most: the object must stay small.
const MaxIndexes = 1024

// IPPoolStatus is what is known of the pool. Its size does not grow with the addresses allocated beyond MaxIndexes.
type IPPoolStatus struct {
	// LastUpdated is when the status was written.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// Total is how many addresses the pool can allocate.
	// +optional
	Total string `json:"total,omitempty"`

	// Free is how many of them may be allocated now.
	// +optional
	Free string `json:"free,omitempty"`

	// Used is how many are held by claims.
	// +optional
	Used int64 `json:"used,omitempty"`

	// Quarantined is how many were released and are kept back for a while, or for their host.
	// +optional
	Quarantined int64 `json:"quarantined,omitempty"`

	// Indexes are the addresses held, by the name of the claim, as metal3 lists them. It is left out where there are more than 1024;
	// list the addresses then.
	// +optional
	Indexes map[string]string `json:"indexes,omitempty"`

	// InUse spans what is held by claims. The API server keeps the ends of it in the pool.
	// +optional
	InUse *AddressSpan `json:"inUse,omitempty"`

	// ObservedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions report whether addresses can be allocated.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// IPPool is a pool of addresses on a network.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ippools,scope=Namespaced,shortName=ipp;ippool;m3ipp;m3ippool;m3ippools;metal3ipp;metal3ippool;metal3ippools,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta1=v1alpha1","cluster.x-k8s.io/v1beta2=v1alpha1","clusterctl.cluster.x-k8s.io/move="}
// +kubebuilder:printcolumn:name="Network",type="string",JSONPath=".spec.network"
// +kubebuilder:printcolumn:name="Free",type="string",JSONPath=".status.free"
// +kubebuilder:printcolumn:name="Used",type="integer",JSONPath=".status.used"
// +kubebuilder:printcolumn:name="Total",type="string",JSONPath=".status.total"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.clusterName",priority=1
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].message",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type IPPool struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is what the owner of the network wants.
	// +optional
	Spec IPPoolSpec `json:"spec,omitempty"`
	// Status is what the controller observes.
	// +kubebuilder:default:={"observedGeneration":-1}
	// +optional
	Status IPPoolStatus `json:"status,omitempty"`
}

// IPPoolList is a list of IPPool.
//
// +kubebuilder:object:root=true
type IPPoolList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IPPool `json:"items"`
}
