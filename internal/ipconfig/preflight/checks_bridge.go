package preflight

import (
	"fmt"
	"slices"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

func checkNMStateBridge(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if !f.NMStateBridge {
		return "", ""
	}
	return "nmstate manages br-ex on this node (" + host.NMStateApplied + " exists)",
		"it would set the old address again at the next boot; change the address in the nmstate configuration of the node instead"
}

func checkDefaultBridge(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	if f.OtherBridge == "" {
		return "", ""
	}
	return fmt.Sprintf("%s names bridge %s, and the change moves br-ex", host.OVNDefaultBridge, f.OtherBridge),
		"only a node whose address is on br-ex can be changed"
}

func checkFirstBoot(_ lcav1.IPConfigSpec, f Facts) (string, string) {
	const word = "ignition.firstboot"
	baked := func(argument string) bool { return argument == word || strings.HasPrefix(argument, word+"=") }
	if !slices.ContainsFunc(f.KernelArguments, baked) {
		return "", ""
	}
	return "the boot loader entry of the running system has kernel argument " + word + ", so each boot is a first one to Ignition",
		"remove it ('rpm-ostree kargs --delete-if-present=" + word + "') and reboot, then request the change again"
}
