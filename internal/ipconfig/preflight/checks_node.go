package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

func checkSingleNode(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	switch {
	case f.ControlPlaneNodes != 1:
		return fmt.Sprintf("the cluster has %d control plane nodes", f.ControlPlaneNodes),
			"an IP change works on a single-node cluster only"
	case f.OtherNodes > 0:
		return fmt.Sprintf("the cluster has %d worker nodes beside its control plane node", f.OtherNodes),
			"they would lose their API server; remove them first, or leave the address as it is"
	}
	return "", ""
}

func checkStatic(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if len(f.Current.Dynamic) == 0 {
		return "", ""
	}
	return "br-ex gets its configuration dynamically (" + strings.Join(f.Current.Dynamic, ", ") + ")",
		"give the node a static address first; a change of a leased address would not last"
}

func checkDnsmasq(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if f.DnsmasqMachineConfig {
		return "", ""
	}
	return "MachineConfig 50-master-dnsmasq-configuration does not exist",
		"the node's own names (api, api-int, *.apps) could not follow the address; create it as the Assisted Installer does"
}

func checkEngine(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if problem, hint := bringup.RefuseImage(f.RecertImage); problem != "" {
		return problem, hint
	}
	if f.Etcd != nil {
		return "certificates and addresses in the cluster's etcd cannot be rewritten: " + f.Etcd.Error(),
			"the node must run the cluster's etcd as a static pod"
	}
	return "", ""
}

// checkRecertPlan is about the native engine. An image may be able to decrypt.
func checkRecertPlan(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	switch {
	case f.RecertImage != "":
		return "", ""
	case f.Encryption != "":
		return "recert cannot rewrite the cluster: values are stored in etcd encrypted (" + f.Encryption + ")",
			"turn encryption off (APIServer cluster, spec.encryption.type: identity) and wait until all values are stored in plain, " +
				"or have an image do it (annotation lca.openshift.io/recert-image)"
	case len(f.RecertBlocked) > 0:
		return RecertProblem(f.RecertBlocked), "'lca-cli ip-config plan' on the node lists every reason"
	}
	return "", ""
}

// RecertProblem is the sentence for the reasons why recert cannot rewrite a cluster.
func RecertProblem(reasons []string) string {
	text := "recert cannot rewrite the cluster: " + reasons[0]
	if more := len(reasons) - 1; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func checkSetDefault(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if f.SetDefault == nil {
		return "", ""
	}
	return "the node cannot choose its next boot: " + f.SetDefault.Error(), "update ostree to a version with 'ostree admin set-default'"
}

func checkLinks(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if f.Links == nil {
		return "", ""
	}
	return "the new network cannot be made: " + f.Links.Error(), "install the module, or ask for a network without such a link"
}

func checkUnits(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	var found []string
	for _, unit := range slices.Sorted(maps.Keys(f.UnitsAway)) {
		found = append(found, unit+" "+f.UnitsAway[unit])
	}
	if len(found) == 0 {
		return "", ""
	}
	return "the new system could not start: " + strings.Join(found, ", "),
		"see 'systemctl status' of it ('systemctl unmask' where it is masked): the new system gets this system's /etc"
}

// checkClock is about what is made with the clock: certificates that a later clock finds not valid yet, or expired.
func checkClock(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	for _, e := range f.Certificates {
		if f.Now.Before(e.From) {
			return fmt.Sprintf("the node's clock says %s, and certificate %s is valid from %s", f.Now.UTC().Format(time.RFC3339), e.File,
					e.From.UTC().Format(time.RFC3339)),
				"set the clock ('chronyc makestep', 'timedatectl'): certificates that are made now would not be valid at the right time"
		}
	}
	return "", ""
}

func checkOneTimeBoot(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if f.OneTimeBoot == nil {
		return "", ""
	}
	return "a new system that does not come up is started again at each boot: " + f.OneTimeBoot.Error(),
		"the change is made all the same; to come back from such a system, choose the old one in the boot menu"
}

func checkUplink(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	switch f.Current.CarrierType {
	case "", netstate.TypeEthernet, netstate.TypeBond:
	default:
		return fmt.Sprintf("the uplink %s of br-ex is on %s, which is of type %s",
				f.Current.Uplink, f.Current.Carrier, f.Current.CarrierType),
			"the change supports a network card or a bond, each with or without a VLAN"
	}
	if f.Current.Uplink != "" {
		return "", ""
	}
	return "no single uplink interface is attached to br-ex",
		"the change supports one network card, or one bond that is not of Open vSwitch; check 'ovs-vsctl list-ports br-ex'"
}

func checkOwnState(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if f.State == nil {
		return "", ""
	}
	return f.State.Error(), "the old and the new system would share it and there would be no way back; move it into the stateroot"
}

func checkDisk(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	switch {
	case f.Free.Bytes < f.Need.Bytes:
		return fmt.Sprintf("the second stateroot needs %d MiB and %d MiB are free", f.Need.Bytes>>20, f.Free.Bytes>>20),
			fmt.Sprintf("free %d MiB below /sysroot", (f.Need.Bytes-f.Free.Bytes)>>20+1)
	case f.BootFreeBytes < f.BootNeedBytes:
		return fmt.Sprintf("a second kernel and initramfs need %d MiB and %d MiB are free in /boot",
				f.BootNeedBytes>>20, f.BootFreeBytes>>20),
			fmt.Sprintf("free %d MiB in /boot", (f.BootNeedBytes-f.BootFreeBytes)>>20+1) + removalHint(f.Spare)
	}
	return "", ""
}

// removalHint names a deployment that may go, and the command.
func removalHint(spare []host.Deployment) string {
	if len(spare) == 0 {
		return ""
	}
	d := spare[len(spare)-1]
	return fmt.Sprintf(", for instance that of deployment %s %s, which neither runs nor boots next: 'ostree admin undeploy %d'",
		d.Stateroot, d.ID(), d.Index)
}

func checkInodes(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if f.Free.Inodes >= f.Need.Inodes {
		return "", ""
	}
	return fmt.Sprintf("the second stateroot needs %d inodes and %d are free", f.Need.Inodes, f.Free.Inodes),
		"remove files below /sysroot, images that are not used for example; free bytes do not help"
}

func checkInUse(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	for _, c := range f.Claimed {
		return fmt.Sprintf("address %s is already in use: the machine with hardware address %s answers for it", c.Address, c.Hardware),
			"choose another address, or take it away from that machine first"
	}
	return "", ""
}

// expirySoon is when a certificate is about to expire. An old stateroot does not run, so nothing renews
// what is in it.
const expirySoon = 3 * 24 * time.Hour

func checkExpiry(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	first := Expiry{}
	for _, e := range f.Certificates {
		if first.File == "" || e.At.Before(first.At) {
			first = e
		}
	}
	if first.File == "" || first.At.After(f.Now.Add(expirySoon)) {
		return "", ""
	}
	return fmt.Sprintf("certificate %s expires at %s", first.File, first.At.UTC().Format(time.RFC3339)),
		"the running cluster renews it by itself, the stateroot to go back to cannot: wait until it is renewed, or decide before that time"
}

func checkLeftovers(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if len(f.LeftoverStateroots) == 0 {
		return "", ""
	}
	return "stateroots of earlier changes are still there: " + strings.Join(f.LeftoverStateroots, ", "),
		"they are removed when the IPConfig becomes Idle"
}
