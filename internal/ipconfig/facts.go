package ipconfig

import (
	"net/netip"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Current is the node's network as observed.
type Current struct {
	IPv4, IPv6   *lcav1.IPStatus
	DNSServers   []string
	VLANID       int32
	FilterFamily lcav1.DNSFilterFamily
	// Dynamic names the families of br-ex that DHCP or autoconfiguration feeds.
	Dynamic []string
	// Uplink is the interface attached to br-ex; empty where it could not be told.
	Uplink string
}

// Facts is what is known when a change is asked for.
type Facts struct {
	Current Current
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

	// SetDefault is why the node cannot choose its next boot; nil when it can.
	SetDefault error
	// State is why a second stateroot would not hold the whole state of the node; nil when it would.
	State error
	// Etcd is why the cluster's etcd can not be opened on this node; nil when it can.
	Etcd error
	// LeftoverStateroots exist on the node and belong to an earlier operation.
	LeftoverStateroots []string
	// Certificates are those that nobody renews in a stateroot that does not run.
	Certificates []Expiry

	// Need and Free compare what a second stateroot takes with the disk; Need zero: not known.
	Need, Free host.Size
	// BootFreeBytes and BootNeedBytes compare /boot with what a second kernel and initramfs take.
	BootFreeBytes, BootNeedBytes int64
	// Claimed are the new addresses that other machines have.
	Claimed []Claimed
}

// Expiry is a certificate file and the end of its validity.
type Expiry struct {
	File string
	At   time.Time
}

// Claimed is an address with the machine that has it.
type Claimed struct {
	Address  netip.Addr
	Hardware string
}

// InSync says whether the node's network already is what the spec asks for, and if
// not, which fields differ.
func InSync(spec lcav1.IPConfigSpec, now Current) (differences []string) {
	if spec.IPv4 != nil {
		differences = append(differences, familyDiff("ipv4", spec.IPv4.Address, spec.IPv4.MachineNetwork, spec.IPv4.Gateway, now.IPv4)...)
	}
	if spec.IPv6 != nil {
		differences = append(differences, familyDiff("ipv6", spec.IPv6.Address, spec.IPv6.MachineNetwork, spec.IPv6.Gateway, now.IPv6)...)
	}
	if len(spec.DNSServers) > 0 && !sameAddrs(spec.DNSServers, now.DNSServers) {
		differences = append(differences, "dnsServers")
	}
	if id, said := wantedVLAN(spec); said && id != now.VLANID {
		differences = append(differences, "vlanID")
	}
	if spec.DNSFilterOutFamily != "" && spec.DNSFilterOutFamily != filterOf(now) {
		differences = append(differences, "dnsFilterOutFamily")
	}
	return differences
}

func filterOf(now Current) lcav1.DNSFilterFamily {
	if now.FilterFamily == "" {
		return lcav1.DNSFilterNone
	}
	return now.FilterFamily
}

func familyDiff(name, address, network, gateway string, now *lcav1.IPStatus) (differences []string) {
	if now == nil {
		return []string{name + ".address"}
	}
	if !sameAddr(address, now.Address) {
		differences = append(differences, name+".address")
	}
	if network != "" && !samePrefix(network, now.MachineNetwork) {
		differences = append(differences, name+".machineNetwork")
	}
	if gateway != "" && !sameAddr(gateway, now.Gateway) {
		differences = append(differences, name+".gateway")
	}
	return differences
}

// sameAddr compares two addresses as values: 2001:db8::1 is 2001:DB8:0::1.
func sameAddr(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return errX == nil && errY == nil && x.WithZone("") == y.WithZone("")
}

func samePrefix(a, b string) bool {
	x, errX := netip.ParsePrefix(a)
	y, errY := netip.ParsePrefix(b)
	return errX == nil && errY == nil && x.Masked() == y.Masked()
}

func sameAddrs(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sameAddr(a[i], b[i]) {
			return false
		}
	}
	return true
}

// wantedVLAN is the VLAN the spec asks for, 0 for none, and whether it says anything
// about one. Left out means that the node keeps what it has.
func wantedVLAN(spec lcav1.IPConfigSpec) (id int32, said bool) {
	if spec.VLANID == nil {
		return 0, false
	}
	return *spec.VLANID, true
}
