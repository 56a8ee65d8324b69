package main

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/netenactment"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/grub"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/lock"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/ostree"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/ovs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/probe"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/shipped"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/systemd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/trees"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operations"
)

// defaultRecertImage is used where no other was shipped.
const defaultRecertImage = "quay.io/edge-infrastructure/recert:v0"

// networkState holds the network adapter's transaction journal. The agent only observes the network, so it never writes there.
const networkState = host.StateDir + "/network"

// newHost builds the ports of the node whose root directory is mounted at hostRoot.
func newHost(hostRoot string, log *slog.Logger) (ipconfig.Node, netenactment.Node) {
	chroot := hostRoot
	if chroot == "/" {
		chroot = ""
	}
	runner := run.New(run.Options{Root: chroot})
	node := files.New(hostRoot)
	units := systemd.New(systemd.Options{Root: chroot, Log: log})
	deployments := ostree.New(ostree.Options{Runner: runner, Files: node, Log: log})
	network := nm.New(nm.Options{
		Bus:   nm.SystemBus("unix:path=" + filepath.Join(hostRoot, "/run/dbus/system_bus_socket")),
		Files: node, StateDir: networkState, Log: log,
		Switch: ovs.New(filepath.Join(hostRoot, ovs.DefaultSocket)),
	})
	// The agent reads an unfinished IP change from its journal; the lock shows which other operation holds the node.
	ports := ipconfig.Node{
		Files:       node,
		Disk:        trees.New(trees.Options{Root: chroot, Log: log}),
		Deployments: deployments, OneTimeBoot: grub.New(node, deployments),
		Network: network, Kernel: network,
		Units: units, Transients: units, Prober: probe.New(), Lock: lock.New(hostRoot,
			operations.Reservations(host.Node{Files: node, Power: units}, change.LockName)...),
	}
	return ports, netenactment.Node{Files: node, Units: units, Transients: units, Network: network, Boots: units,
		Deployments: ports.Deployments, Trials: network}
}

// recertImage is the image that was shipped with the agent.
func recertImage(getenv func(string) string) string {
	if image := getenv("RELATED_IMAGE_RECERT_IMAGE"); image != "" {
		return image
	}
	return defaultRecertImage
}

// shippedCLI installs the lca-cli of the agent's own image. An agent that runs as a service on the node has none: the node's own
// program is in the same place.
func shippedCLI(hostRoot string) func() error {
	if hostRoot == "/" {
		return nil
	}
	if _, err := os.Stat(host.CLI); err != nil {
		return nil
	}
	return (&shipped.Program{Node: files.New(hostRoot), Path: host.CLI}).Install
}
