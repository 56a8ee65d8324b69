package preflight

import (
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/kernelargs"
)

// kernelMove is what becomes of the kernel arguments that carry the network.
func kernelMove(spec lcav1.IPConfigSpec, f Facts) kernelargs.Moved {
	change, err := kernelargs.Of(ipconfig.BuildRequest("preflight", "", spec, f.Current))
	if err != nil {
		return kernelargs.Moved{} // the checks of the addresses say it
	}
	change.Owned = f.OwnedArguments
	return change.Move(f.KernelArguments)
}

// checkKernelStuck is about a node whose root is on the network or is unlocked over it (Tang): on the new network the roots of both
// systems would stay locked, and no watchdog runs before that.
func checkKernelStuck(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	stuck := kernelMove(spec, f).Stuck
	if len(stuck) == 0 || !kernelargs.NeedsNetwork(f.KernelArguments) {
		return "", ""
	}
	return "the initramfs needs a network (rd.neednet, _netdev), and kernel arguments of the old network cannot be moved: " +
			strings.Join(stuck, ", "),
		"remove or correct them ('rpm-ostree kargs', or the MachineConfig that owns them) and reboot, then request the change again; " +
			"otherwise no system of this node could unlock its root on the new network"
}

// checkKernelMoved names what the new boot entry has in place of the old arguments, and what stays though it is of no use.
func checkKernelMoved(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	m := kernelMove(spec, f)
	var found []string
	if len(m.Changed) > 0 {
		found = append(found, "the new boot entry gets other kernel arguments: "+strings.Join(m.Changed, ", "))
	}
	if len(m.Stuck) > 0 {
		found = append(found, "kernel arguments name the old network and stay: "+strings.Join(m.Stuck, ", "))
	}
	if len(found) == 0 {
		return "", ""
	}
	hint := "the entry of the old system keeps its own"
	if kernelargs.NeedsNetwork(f.KernelArguments) {
		hint += "; the initramfs needs this network: make sure that what unlocks the disks (Tang) answers there, " +
			"because no watchdog runs before"
	}
	return strings.Join(found, "; "), hint
}
