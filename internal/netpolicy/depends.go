package netpolicy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Dependencies is a sum over what an enactment of the document depends on in the network of now: the links that it names, what they rest
// on, and how they are configured; of a document that captures made or that could not be resolved, all links and routes. A document that
// failed has no other chance until the sum is another one. What comes and goes by itself is no part of it: leases, and the links of pods;
// running routes are where captures may have looked for them.
func Dependencies(document string, all bool, now netstate.Document) string {
	d, err := decodeDocument(document)
	if err != nil || document == "" {
		all = true
	}
	named := namedLinks(d, now)
	var of dependencies
	for _, i := range now.Interfaces {
		switch {
		case all && i.State != netstate.StateIgnore || named[i.Name]:
			of.Links = append(of.Links, linkOf(i))
		case all && i.Type != netstate.TypeVeth:
			of.Links = append(of.Links, link{Name: i.Name, Type: i.Type, State: i.State})
		}
	}
	if now.Routes != nil && all {
		of.Running = runningRoutes(now)
	}
	if now.Routes != nil {
		for _, r := range now.Routes.Config {
			if all || named[r.NextHopInterface] {
				of.Routes = append(of.Routes, r)
			}
		}
	}
	slices.SortFunc(of.Routes, func(a, b netstate.Route) int { return strings.Compare(a.String(), b.String()) })
	if now.DNS != nil && (all || d.DNS != nil) {
		of.DNS = now.DNS.Config
	}
	text, err := json.Marshal(of)
	if err != nil {
		return "" // strings and numbers always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// dependencies is what the sum is made of.
type dependencies struct {
	Links  []link
	Routes []netstate.Route
	// Running are destinations with their next hops.
	Running []string
	DNS     any
}

// runningRoutes are those over links that are not of pods, sorted. Metrics of automatic routes change when a link is activated again.
func runningRoutes(now netstate.Document) (out []string) {
	ignored := map[string]bool{}
	for _, i := range now.Interfaces {
		ignored[i.Name] = i.State == netstate.StateIgnore
	}
	for _, r := range now.Routes.Running {
		if !ignored[r.NextHopInterface] {
			out = append(out, r.Destination+" "+r.NextHopAddress+" "+r.NextHopInterface)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// link is an interface without what changes by itself. The address of a virtual one is made up anew with it.
type link struct {
	Name, Type, State, Profile, MAC, Base string
	Controller                            *string
	MTU, MaxMTU                           int
	Ports                                 []string
	IPv4, IPv6                            []netstate.Address
	Auto                                  [2]bool
	// Carrier of a card: without a cable there is no network to prove.
	Carrier bool
}

func linkOf(i netstate.Interface) link {
	l := link{Name: i.Name, Type: i.Type, State: i.State, Profile: i.ProfileName, Base: i.Base(), Controller: i.Controller, MTU: i.MTU,
		MaxMTU: i.MaxMTU, Ports: i.Ports()}
	if i.Type == netstate.TypeEthernet {
		l.MAC, l.Carrier = i.MACAddress, i.HasCarrier
	}
	l.IPv4, l.Auto[0] = fixedAddresses(i.IPv4)
	l.IPv6, l.Auto[1] = fixedAddresses(i.IPv6)
	return l
}

// fixedAddresses are the addresses that a person or a policy gave, and whether others may come by themselves.
func fixedAddresses(ip *netstate.IP) (fixed []netstate.Address, auto bool) {
	if ip == nil {
		return nil, false
	}
	if ip.Auto() {
		return nil, true
	}
	return slices.DeleteFunc(slices.Clone(ip.Addresses), netstate.Address.Dynamic), false
}

// namedLinks are the interfaces that a document names: to configure them, to rest on them, to route over them.
func namedLinks(d, now netstate.Document) map[string]bool {
	named := map[string]bool{}
	for _, w := range d.Interfaces {
		for _, name := range append(carriersOf(w), w.Name) {
			named[name] = true
		}
		for _, i := range now.Interfaces {
			if matchesInterface(w, i) {
				named[i.Name] = true
			}
		}
	}
	if d.Routes != nil {
		for _, r := range d.Routes.Config {
			named[r.NextHopInterface] = true
		}
	}
	if d.RouteRules != nil {
		for _, r := range d.RouteRules.Config {
			named[r.IIF] = true
		}
	}
	return named
}
