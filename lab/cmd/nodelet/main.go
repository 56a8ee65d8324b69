// Command nodelet stands in for the kubelet on a lab node that is too slow for the real one. kubelet.service starts it.
//
// What it does: it reads the static pod manifests, runs each container's command as a plain process of the host with the paths of
// the pod's volumes translated, restarts what ends, waits for the API, registers the Node with the addresses that
// nodeip-configuration found, keeps Node, Lease and mirror pods fresh, tells systemd when the node is Ready, and on SIGTERM stops
// its children, the API server before etcd.
//
// What it is not: there are no containers, no images, no cgroups, no probes, no eviction, no other pods, no certificate
// rotation and no kubelet API on port 10250. It knows only the fields of a manifest that the lab's manifests use, and turns
// OpenShift's --openshift-config (a patch of their kube-apiserver) into the flags upstream has.
//
// It must not import the product's packages.
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	var n node
	flag.StringVar(&n.root, "root", "/", "directory that holds the node's files, put before every path")
	flag.StringVar(&n.name, "node-name", host, "name of the Node object")
	flag.StringVar(&n.binDir, "bin-dir", "/usr/local/bin", "where the programs of the static pods are; not put below -root")
	flag.StringVar(&n.addressDir, "address-dir", "/run/nodeip-configuration", "where the node's addresses are; not put below -root")
	flag.Parse()

	n.log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err = n.run(ctx)
	stop()
	if err != nil {
		n.log.Error("node agent failed", "error", err)
		os.Exit(1)
	}
}
