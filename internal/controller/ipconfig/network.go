package ipconfig

import (
	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// uplinkOf is the uplink as the rendering of a request needs it.
func uplinkOf(doc netstate.Document, now ipconfig.Current) ipconfig.Uplink {
	u := ipconfig.Uplink{Name: now.Uplink, Base: now.Uplink}
	if port, ok := doc.Find(now.Uplink, netstate.TypeVLAN); ok && port.VLAN != nil {
		u.Base, u.VLAN = port.VLAN.BaseIface, port.VLAN.ID
	}
	return u
}

// inSync compares the spec with what runs; nothing differs when it is empty.
func inSync(ipc *lcav1.IPConfig, o observation) []string {
	return ipconfig.InSync(ipc.Spec, o.current)
}
