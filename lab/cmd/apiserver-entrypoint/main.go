// Command apiserver-entrypoint is what the lab's control-plane image has under the name kube-apiserver. It turns
// --openshift-config into flags and becomes the upstream kube-apiserver, so that a static pod's manifest looks as OpenShift
// writes it.
//
// It must not import the product's packages.
package main

import (
	"fmt"
	"os"
	"syscall"

	"github.com/lifecycle-agent/lifecycle-agent/lab/apiserverflags"
)

// upstream is where the image has the real program.
const upstream = "/usr/libexec/kube-apiserver"

func main() {
	args, err := apiserverflags.Expand(os.Args[1:])
	if err == nil {
		err = syscall.Exec(upstream, append([]string{upstream}, args...), os.Environ())
	}
	fmt.Fprintf(os.Stderr, "start kube-apiserver: %v\n", err)
	os.Exit(1)
}
