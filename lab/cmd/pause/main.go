// Command pause is the first process of every pod on a lab node with the real kubelet: it holds the pod's namespaces, and does
// nothing but wait to be told to end. containerd starts it from the lab's own image (lab/cluster makes that image).
//
// It must not import anything but the standard library: it stays in memory once for each pod.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
}
