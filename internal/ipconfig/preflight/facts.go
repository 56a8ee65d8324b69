package preflight

import (
	"net/netip"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// Facts is what is known when a change is asked for.
type Facts struct {
	Current ipconfig.Current
	// Now is when the facts were gathered.
	Now time.Time
	// Unknown says, by the name of the check, what could not be found out and why.
	Unknown map[string]string

	// ControlPlaneNodes and OtherNodes count the cluster's Node objects.
	ControlPlaneNodes, OtherNodes int
	// DnsmasqMachineConfig: MachineConfig 50-master-dnsmasq-configuration exists.
	DnsmasqMachineConfig bool
	// ClusterNetworks, ServiceNetworks and JoinNetworks are the cluster's inner networks.
	ClusterNetworks, ServiceNetworks, JoinNetworks []netip.Prefix
	Proxy                                          Proxy
	// RecertImage is the image that the container engine for recert was asked to run; empty: the native engine.
	RecertImage string
	// Encryption is how the cluster encrypts values in etcd; empty: it does not.
	Encryption string
	// RecertBlocked says why recert could not rewrite this cluster, as its forecast found.
	RecertBlocked []string

	// Owned are files of the node's MachineConfig that a change may write.
	Owned []Owned

	// NMStateBridge: nmstate makes br-ex on this node, not configure-ovs.
	NMStateBridge bool
	// OtherBridge is the bridge that OVN-Kubernetes is configured to use instead of br-ex.
	OtherBridge string
	// KernelArguments are those of the booted boot loader entry.
	KernelArguments []string
	// OwnedArguments are kernel arguments that the node's MachineConfig adds.
	OwnedArguments []string

	// Links is why the kernel cannot make the links of the new network; nil when it can.
	Links error
	// UnitsAway says of units that the new system needs and that cannot start why.
	UnitsAway map[string]string

	// SetDefault is why the node cannot choose its next boot; nil when it can.
	SetDefault error
	// OneTimeBoot is why the boot loader cannot start the new system once; nil when it can.
	OneTimeBoot error
	// State is why a second stateroot would not hold the whole state of the node; nil when it would.
	State error
	// Etcd is why the cluster's etcd cannot be opened on this node; nil when it can.
	Etcd error
	// LeftoverStateroots exist on the node and belong to an earlier operation.
	LeftoverStateroots []string
	// Certificates are those that no component renews in a stateroot that does not run.
	Certificates []Expiry

	// Need and Free compare what a second stateroot takes with the disk; Need zero: not known.
	Need, Free host.Size
	// BootFreeBytes and BootNeedBytes compare /boot with what a second kernel and initramfs take.
	BootFreeBytes, BootNeedBytes int64
	// Spare are the deployments that neither run nor boot next: with one of them goes its kernel in /boot.
	Spare []host.Deployment
	// Claimed are the new addresses that other machines have.
	Claimed []Claimed
}

// Expiry is a certificate file with the times from which and until which all of it is valid.
type Expiry struct {
	File     string
	From, At time.Time
}

// Claimed is an address with the machine that has it.
type Claimed struct {
	Address  netip.Addr
	Hardware string
}
