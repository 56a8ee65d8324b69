package kernelargs

import (
	"slices"
	"strings"
)

// panicSeconds is what kubelet sets while it runs (kernel.panic), so that a node that stays in the new system keeps its behaviour.
const panicSeconds = "10"

// RebootAfterPanic has the kernel reboot after a panic, where the arguments do not say what it is to do then.
func RebootAfterPanic(arguments []string) []string {
	if slices.ContainsFunc(arguments, func(a string) bool { return strings.HasPrefix(a, "panic=") }) {
		return arguments
	}
	return append(slices.Clone(arguments), "panic="+panicSeconds)
}
