package hosttest

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/files"
)

// Ports is the whole node behind the ports, as main would build it.
func (n *Node) Ports() host.Node {
	return host.Node{
		Files: n.Files(), Trees: n.Trees(), Deployments: n.Deployments(), OneTimeBoot: n.OneTimeBoot(),
		Units: n.Units(), Masks: n.RuntimeMasks(), Foreign: n.ForeignUnits(), Transients: n.Transients(),
		Power: n.Power(), Logs: n.Logs(), Network: n.Network(), Planner: n.NetworkPlanner(), Switch: n.Switch(), Prober: n.Prober(),
		Resolver: n.Resolver(), Hostname: n.Hostname(), Containers: n.Containers(), Recert: n.FakeRecert(), RecertImages: n.RecertImages(),
	}
}

// Files is the node's host.Files. It also has Symlink, which the contract uses.
func (n *Node) Files() host.Files { return files.Of(n.m) }

// Trees is the node's host.Trees.
func (n *Node) Trees() host.Trees {
	return files.Trees(n.m, files.TreeOptions{FreeInodes: n.options.FreeInodes, Reflinks: n.options.Reflinks})
}

// Archives is the node's host.Archives.
func (n *Node) Archives() host.Archives { return files.Archives(n.m) }

// Power is the node's host.Power.
func (n *Node) Power() host.Power { return n.m.Power() }

// Hostname is the node's host.Hostname.
func (n *Node) Hostname() host.Hostname { return hostname{n} }

type hostname struct{ n *Node }

func (h hostname) Hostname(context.Context) (string, error) {
	data, err := h.n.Files().Read(host.HostnameFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "localhost", nil
	}
	return strings.TrimSpace(string(data)), err
}

func (h hostname) SetHostname(_ context.Context, name string) error {
	return h.n.Files().Write(host.HostnameFile, []byte(name+"\n"), 0o644)
}

// Reports is the node's host.SystemReports.
func (n *Node) Reports() host.SystemReports { return reports{} }

type reports struct{}

func (reports) Images(context.Context) ([]host.ContainerImage, error) {
	return []host.ContainerImage{{Tags: []string{"quay.io/team/app:1"}}, {Digests: []string{"quay.io/team/other@sha256:00"}}}, nil
}

func (reports) RPMOSTree(context.Context) ([]byte, error) { return nil, fs.ErrNotExist }
