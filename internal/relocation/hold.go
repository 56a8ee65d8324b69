package relocation

import "github.com/lifecycle-agent/lifecycle-agent/internal/host"

const (
	// HoldFile holds the cluster of its stateroot back for as long as it exists.
	HoldFile = Dir + "/hold"
	// HoldDropIn is the drop-in's name in the folder of each unit that is held.
	HoldDropIn = "10-lca-hold.conf"
)

// HoldText is the drop-in. It stays in place: without HoldFile it has no effect.
const HoldText = `# Written by Lifecycle Agent. The unit does not start while the file exists.
[Unit]
ConditionPathExists=!` + HoldFile + `
`

// HeldUnits are kubelet and what builds the network under it; they are held on every node. Without the last two, a unit that
// pulls kubelet in would still build br-ex from the factory's network.
func HeldUnits() []string {
	return []string{host.UnitKubelet, "nodeip-configuration.service", host.UnitOVSConfiguration}
}
