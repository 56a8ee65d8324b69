// Package netstate is the nmstate document as values: decode, encode, validate, compare. Domain packages, host
// ports, adapters and lca-cli import it; it does no I/O and imports the standard library and a YAML parser only.
//
// What a document does not mention is nil, or the zero of a type where zero is no valid value (an MTU of 0, an
// empty name). An empty list that is not nil is mentioned and empty. Merging, comparing and taking back rest on
// that difference, and Decode and Encode keep it.
//
// Format: https://nmstate.io, the bare-metal subset; package schema has the table of what is supported.
package netstate

// Document is desired or current network state.
type Document struct {
	Description string      `json:"description,omitempty"`
	Hostname    *Hostname   `json:"hostname,omitempty"`
	DNS         *DNS        `json:"dns-resolver,omitempty"`
	RouteRules  *RouteRules `json:"route-rules,omitempty"`
	Routes      *Routes     `json:"routes,omitempty"`
	Interfaces  []Interface `json:"interfaces,omitzero"`
	OVSDB       *OVSDB      `json:"ovs-db,omitempty"`
	OVN         *OVN        `json:"ovn,omitempty"`
}

// Hostname is the node's name: Running is the kernel's, Config the stored one ("" removes it).
type Hostname struct {
	Running *string `json:"running,omitempty"`
	Config  *string `json:"config,omitempty"`
}

// DNS holds the desired (config) and observed (running) resolver settings. An empty Config removes them all.
type DNS struct {
	Running *Resolver `json:"running,omitempty"`
	Config  *Resolver `json:"config,omitempty"`
}

// Resolver is an ordered list of servers, of search domains and of resolv.conf(5) options. Each that is mentioned
// replaces what is there.
type Resolver struct {
	Server  []string `json:"server,omitzero"`
	Search  []string `json:"search,omitzero"`
	Options []string `json:"options,omitzero"`
}

// Routes holds the desired (config) and observed (running) routes.
type Routes struct {
	Running []Route `json:"running,omitzero"`
	Config  []Route `json:"config,omitzero"`
}

// Route is one route; State "absent" in a desired document removes matching ones.
type Route struct {
	State            string `json:"state,omitempty"`
	Destination      string `json:"destination,omitempty" filled:"leave it out to match every destination"`
	NextHopInterface string `json:"next-hop-interface,omitempty"`
	// NextHopAddress of "0.0.0.0" or "::" means: without a next hop.
	NextHopAddress string `json:"next-hop-address,omitempty"`
	// Metric of 0 (nmstate also: -1) leaves the choice to NetworkManager.
	Metric int `json:"metric,omitempty"`
	// TableID of 0 is the main table, 254; in an order to remove it is any table.
	TableID int `json:"table-id,omitempty"`
	// Weight, 1-256, makes the route one of several equal ones (IPv4 only).
	Weight int `json:"weight,omitempty"`
	// RouteType is blackhole, unreachable or prohibit; empty is an ordinary route.
	RouteType string `json:"route-type,omitempty"`
	CWND      int    `json:"cwnd,omitempty"`
	Source    string `json:"source,omitempty"`
	VRFName   string `json:"vrf-name,omitempty"`
}

// RouteRules are the rules that choose a routing table. Running is not filled by nmstate.
type RouteRules struct {
	Running []RouteRule `json:"running,omitzero"`
	Config  []RouteRule `json:"config,omitzero"`
}

// RouteRule is one rule; State "absent" removes those it matches. An empty IPFrom or IPTo that is mentioned
// matches only rules without one.
type RouteRule struct {
	State        string  `json:"state,omitempty"`
	Family       string  `json:"family,omitempty"`
	IPFrom       *string `json:"ip-from,omitempty"`
	IPTo         *string `json:"ip-to,omitempty"`
	Priority     int     `json:"priority,omitempty"`
	RouteTable   int     `json:"route-table,omitempty"`
	FwMark       *Mark   `json:"fwmark,omitempty"`
	FwMask       *Mark   `json:"fwmask,omitempty"`
	IIF          string  `json:"iif,omitempty"`
	Action       string  `json:"action,omitempty"`
	SuppressPfx  *int    `json:"suppress-prefix-length,omitempty"`
	LoopbackOnly *Opaque `json:"loopback,omitempty" support:"no"`
}

// OVSDB are the free-form columns of a row of the Open vSwitch database; a null value removes the key.
type OVSDB struct {
	ExternalIDs map[string]*string `json:"external_ids,omitzero"`
	OtherConfig map[string]*string `json:"other_config,omitzero"`
}

// OVN maps OVN's localnet networks to bridges of this node.
type OVN struct {
	BridgeMappings []BridgeMapping `json:"bridge-mappings,omitzero"`
}

// BridgeMapping connects one localnet network; State "absent" removes the mapping.
type BridgeMapping struct {
	Localnet string `json:"localnet,omitempty"`
	Bridge   string `json:"bridge,omitempty"`
	State    string `json:"state,omitempty"`
}

// Find returns the named interface; two may share a name (an OVS bridge and
// its internal port), so the type decides unless it is empty.
func (d Document) Find(name, ifaceType string) (Interface, bool) {
	for _, i := range d.Interfaces {
		if i.Name == name && (ifaceType == "" || i.Type == ifaceType) {
			return i, true
		}
	}
	return Interface{}, false
}
