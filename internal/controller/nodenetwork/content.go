package nodenetwork

import (
	"encoding/json"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// MaxContent bounds what is published, in bytes of JSON: etcd takes requests of 1.5 MiB, and a patch has to fit beside
// metadata.
const MaxContent = 1 << 20

// Content is the published form of an observation, as JSON: without what changes by itself, and within
// MaxContent. trimmed says that details were left out.
func Content(now netstate.Document) (content []byte, trimmed bool, err error) {
	d := filterInterfaces(now)
	for _, trim := range []func(*netstate.Document){nil, dropDetails, dropRunningRoutes, dropAddresses} {
		if trim != nil {
			trim(&d)
			trimmed = true
		}
		if content, err = json.Marshal(d); err != nil {
			return nil, false, fmt.Errorf("encode the network: %w", err)
		}
		if len(content) <= MaxContent {
			return content, trimmed, nil
		}
	}
	content, err = json.Marshal(map[string]any{"description": fmt.Sprintf("%d interfaces, too many to publish", len(now.Interfaces))})
	return content, true, err
}

// filterInterfaces leaves out what no administrator configures: the ends of pods' veth pairs that NetworkManager does not manage, with
// their routes; and what changes by itself: timers of bridges and lifetimes of leases. It copies what it changes.
func filterInterfaces(now netstate.Document) netstate.Document {
	out, dropped := now, map[string]bool{}
	out.Interfaces = make([]netstate.Interface, 0, len(now.Interfaces))
	for _, i := range now.Interfaces {
		if i.Type == netstate.TypeVeth && i.State == netstate.StateIgnore {
			dropped[i.Name] = true
			continue
		}
		if i.Bridge != nil && i.Bridge.Options != nil {
			bridge, options := *i.Bridge, *i.Bridge.Options
			options.HelloTimer, options.GCTimer = nil, nil
			bridge.Options, i.Bridge = &options, &bridge
		}
		i.IPv4, i.IPv6 = withoutLifetimes(i.IPv4), withoutLifetimes(i.IPv6)
		out.Interfaces = append(out.Interfaces, i)
	}
	if now.Routes != nil {
		keep := func(all []netstate.Route) (kept []netstate.Route) {
			for _, r := range all {
				if !dropped[r.NextHopInterface] {
					kept = append(kept, r)
				}
			}
			return kept
		}
		out.Routes = &netstate.Routes{Running: keep(now.Routes.Running), Config: keep(now.Routes.Config)}
	}
	return out
}

func withoutLifetimes(ip *netstate.IP) *netstate.IP {
	if ip == nil || len(ip.Addresses) == 0 {
		return ip
	}
	out := *ip
	out.Addresses = make([]netstate.Address, 0, len(ip.Addresses))
	for _, a := range ip.Addresses {
		a.ValidLifetime, a.PreferredLifetime = "", ""
		out.Addresses = append(out.Addresses, a)
	}
	return &out
}

// dropDetails keeps of each interface what names and connects it.
func dropDetails(d *netstate.Document) {
	for n, i := range d.Interfaces {
		d.Interfaces[n] = netstate.Interface{
			Name: i.Name, Type: i.Type, State: i.State, MACAddress: i.MACAddress, MTU: i.MTU, Controller: i.Controller,
			IPv4: i.IPv4, IPv6: i.IPv6, VLAN: i.VLAN, Bond: i.Bond, VRF: i.VRF,
		}
	}
}

func dropRunningRoutes(d *netstate.Document) {
	if d.Routes != nil {
		d.Routes = &netstate.Routes{Config: d.Routes.Config}
	}
}

func dropAddresses(d *netstate.Document) {
	for n, i := range d.Interfaces {
		d.Interfaces[n] = netstate.Interface{Name: i.Name, Type: i.Type, State: i.State}
	}
	d.Routes = nil
}
