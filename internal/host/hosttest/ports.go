package hosttest

import "github.com/lifecycle-agent/lifecycle-agent/internal/host"

// Ports is the whole node behind the ports, as main would build it.
func (n *Node) Ports() host.Node {
	return host.Node{
		Files: n.Files(), Trees: n.Trees(), Deployments: n.Deployments(),
		Units: n.Units(), Masks: n.RuntimeMasks(), Foreign: n.ForeignUnits(), Transients: n.Transients(),
		Power: n.Power(), Logs: n.Logs(), Network: n.Network(), Switch: n.Switch(), Prober: n.Prober(),
		Resolver: n.Resolver(), Hostname: n.Hostname(), Containers: n.Containers(), Recert: n.FakeRecert(), RecertImages: n.RecertImages(),
	}
}
