package netstate

// Ethernet are the link settings of a card.
type Ethernet struct {
	AutoNegotiation *bool `json:"auto-negotiation,omitempty"`
	// Speed in Mbit/s.
	Speed  int     `json:"speed,omitempty"`
	Duplex string  `json:"duplex,omitempty"`
	SRIOV  *Opaque `json:"sr-iov,omitempty" support:"no"`
}

// Veth names the other end of a pair.
type Veth struct {
	Peer string `json:"peer,omitempty"`
}

// VLAN is an 802.1Q tag on a base interface.
type VLAN struct {
	BaseIface            string `json:"base-iface,omitempty"`
	ID                   int    `json:"id"`
	Protocol             string `json:"protocol,omitempty"`
	RegistrationProtocol string `json:"registration-protocol,omitempty"`
	ReorderHeaders       *bool  `json:"reorder-headers,omitempty"`
	LooseBinding         *bool  `json:"loose-binding,omitempty"`
}

// Bond joins ports into one link.
type Bond struct {
	Mode    string  `json:"mode,omitempty"`
	Options Options `json:"options,omitzero"`
	// Ports replace what is there; an empty list is a bond without ports.
	Ports       []string     `json:"port,omitzero" alias:"ports,slaves"`
	PortsConfig []BondMember `json:"ports-config,omitzero"`
}

// BondMember are the settings of a port of a bond.
type BondMember struct {
	Name     string `json:"name"`
	Priority *int   `json:"priority,omitempty"`
	QueueID  *int   `json:"queue-id,omitempty"`
}

// Bridge lists the ports of a Linux bridge or an Open vSwitch bridge.
type Bridge struct {
	// AllowExtraPatchPorts leaves the patch ports of OVN alone, which no document lists; ovs-bridge only.
	AllowExtraPatchPorts bool           `json:"allow-extra-patch-ports,omitempty"`
	Options              *BridgeOptions `json:"options,omitempty"`
	// Ports replace what is there; nil keeps them.
	Ports []BridgePort `json:"port,omitzero" alias:"ports,slaves"`
}

// BridgeOptions are those of both kinds of bridges; the second half is Open vSwitch's.
type BridgeOptions struct {
	STP                         *STP    `json:"stp,omitempty"`
	GroupAddr                   string  `json:"group-addr,omitempty"`
	GroupForwardMask            *int    `json:"group-forward-mask,omitempty" alias:"group-fwd-mask"`
	HashMax                     *int    `json:"hash-max,omitempty"`
	MACAgeingTime               *int    `json:"mac-ageing-time,omitempty"`
	MulticastLastMemberCount    *int    `json:"multicast-last-member-count,omitempty"`
	MulticastLastMemberInterval *int    `json:"multicast-last-member-interval,omitempty"`
	MulticastMembershipInterval *int    `json:"multicast-membership-interval,omitempty"`
	MulticastQuerier            *bool   `json:"multicast-querier,omitempty"`
	MulticastQuerierInterval    *int    `json:"multicast-querier-interval,omitempty"`
	MulticastQueryInterval      *int    `json:"multicast-query-interval,omitempty"`
	MulticastQueryResponse      *int    `json:"multicast-query-response-interval,omitempty"`
	MulticastQueryUseIfaddr     *bool   `json:"multicast-query-use-ifaddr,omitempty"`
	MulticastRouter             string  `json:"multicast-router,omitempty"`
	MulticastSnooping           *bool   `json:"multicast-snooping,omitempty"`
	MulticastStartupCount       *int    `json:"multicast-startup-query-count,omitempty"`
	MulticastStartupInterval    *int    `json:"multicast-startup-query-interval,omitempty"`
	VLANProtocol                string  `json:"vlan-protocol,omitempty"`
	VLANDefaultPVID             *int    `json:"vlan-default-pvid,omitempty"`
	HelloTimer                  *Opaque `json:"hello-timer,omitempty" support:"read"`
	GCTimer                     *Opaque `json:"gc-timer,omitempty" support:"read"`

	RSTP          *bool  `json:"rstp,omitempty"`
	McastSnooping *bool  `json:"mcast-snooping-enable,omitempty"`
	FailMode      string `json:"fail-mode,omitempty"`
	Datapath      string `json:"datapath,omitempty"`
}

// STP is the spanning tree protocol. An ovs-bridge may say true or false for the whole of it.
type STP struct {
	Enabled      *bool `json:"enabled,omitempty"`
	ForwardDelay *int  `json:"forward-delay,omitempty"`
	HelloTime    *int  `json:"hello-time,omitempty"`
	MaxAge       *int  `json:"max-age,omitempty"`
	Priority     *int  `json:"priority,omitempty"`
}

// ShortKey is the key that a bare value stands for.
func (STP) ShortKey() string { return "enabled" }

// BridgePort is one port of a bridge. Bond is for Open vSwitch, which bonds inside the bridge: the port then
// has a name of its own.
type BridgePort struct {
	Name        string    `json:"name"`
	HairpinMode *bool     `json:"stp-hairpin-mode,omitempty"`
	PathCost    *int      `json:"stp-path-cost,omitempty"`
	Priority    *int      `json:"stp-priority,omitempty"`
	VLAN        *PortVLAN `json:"vlan,omitempty"`
	Bond        *PortBond `json:"link-aggregation,omitempty"`
}

// PortVLAN is the VLAN filter of a port. An empty one that is mentioned takes the filter away.
type PortVLAN struct {
	// Mode is access or trunk.
	Mode string `json:"mode,omitempty"`
	// Tag is the access VLAN, or the native one of a trunk.
	Tag          *int       `json:"tag,omitempty"`
	EnableNative *bool      `json:"enable-native,omitempty"`
	TrunkTags    []TrunkTag `json:"trunk-tags,omitzero"`
}

// TrunkTag is one VLAN or a range of them.
type TrunkTag struct {
	ID    *int     `json:"id,omitempty"`
	Range *IDRange `json:"id-range,omitempty"`
}

// IDRange is a range of VLAN ids, both ends included.
type IDRange struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// PortBond is a bond inside an Open vSwitch bridge.
type PortBond struct {
	Mode      string       `json:"mode,omitempty"`
	Ports     []BondMember `json:"port,omitzero" alias:"ports,slaves"`
	UpDelay   *int         `json:"bond-updelay,omitempty"`
	DownDelay *int         `json:"bond-downdelay,omitempty"`
	OVSDB     *OVSDB       `json:"ovs-db,omitempty"`
}

// Patch is one end of a connection between two Open vSwitch bridges.
type Patch struct {
	Peer string `json:"peer,omitempty"`
}

// MACVLAN is a link with a MAC address of its own on a base interface. A mac-vtap is one that programs read from a device file.
type MACVLAN struct {
	BaseIface   string `json:"base-iface,omitempty"`
	Mode        string `json:"mode,omitempty"`
	Promiscuous *bool  `json:"promiscuous,omitempty"`
}

// VXLAN is a tunnel of Ethernet frames in UDP to another end or a group.
type VXLAN struct {
	BaseIface string `json:"base-iface,omitempty"`
	ID        int    `json:"id,omitempty"`
	Remote    string `json:"remote,omitempty"`
	Local     string `json:"local,omitempty"`
	Learning  *bool  `json:"learning,omitempty"`
	// DestinationPort is a UDP port.
	DestinationPort int `json:"destination-port,omitempty"`
}

// MACSec is a link that encrypts what its base carries, by keys that MACsec Key Agreement makes of a shared one.
type MACSec struct {
	BaseIface string `json:"base-iface,omitempty"`
	Encrypt   *bool  `json:"encrypt,omitempty"`
	// CAK is the shared key, and CKN its name; both in hexadecimal.
	CAK string `json:"mka-cak,omitempty" secret:"true"`
	CKN string `json:"mka-ckn,omitempty"`
	// Port of the channel's identifier; 0 leaves it to NetworkManager, which takes 1.
	Port       int    `json:"port,omitempty"`
	Validation string `json:"validation,omitempty"`
	SendSCI    *bool  `json:"send-sci,omitempty"`
	Offload    string `json:"offload,omitempty"`
}

// IPVLAN is a link with addresses of its own and the MAC address of its base.
type IPVLAN struct {
	BaseIface string `json:"base-iface,omitempty"`
	Mode      string `json:"mode,omitempty"`
	Private   *bool  `json:"private,omitempty"`
	VEPA      *bool  `json:"vepa,omitempty"`
}

// VRF is a routing domain: its ports route by the table.
type VRF struct {
	Ports        []string `json:"port,omitzero" alias:"ports"`
	RouteTableID int      `json:"route-table-id,omitempty"`
}

// Ethtool is what the driver of a link does with frames. Source of the names: nmstate and the kernel's linux/ethtool.h.
type Ethtool struct {
	// Features are offloads by the kernel's name, or one of ethtool's short names.
	Features map[string]bool `json:"feature,omitempty"`
	Pause    *Pause          `json:"pause,omitempty"`
	Ring     *Ring           `json:"ring,omitempty"`
	Coalesce *Coalesce       `json:"coalesce,omitempty"`
	FEC      *Opaque         `json:"fec,omitempty" support:"no"`
}

// Pause are the frames by which a card asks its peer to wait.
type Pause struct {
	Autoneg *bool `json:"autoneg,omitempty"`
	RX      *bool `json:"rx,omitempty"`
	TX      *bool `json:"tx,omitempty"`
}

// Ring are the numbers of entries of a card's queues.
type Ring struct {
	RX         *int `json:"rx,omitempty"`
	RXMax      *int `json:"rx-max,omitempty" support:"read"`
	RXMini     *int `json:"rx-mini,omitempty"`
	RXMiniMax  *int `json:"rx-mini-max,omitempty" support:"read"`
	RXJumbo    *int `json:"rx-jumbo,omitempty"`
	RXJumboMax *int `json:"rx-jumbo-max,omitempty" support:"read"`
	TX         *int `json:"tx,omitempty"`
	TXMax      *int `json:"tx-max,omitempty" support:"read"`
}

// Coalesce says how long a card waits, in microseconds or frames, before it interrupts.
type Coalesce struct {
	AdaptiveRX      *bool `json:"adaptive-rx,omitempty"`
	AdaptiveTX      *bool `json:"adaptive-tx,omitempty"`
	PktRateHigh     *int  `json:"pkt-rate-high,omitempty"`
	PktRateLow      *int  `json:"pkt-rate-low,omitempty"`
	RXFrames        *int  `json:"rx-frames,omitempty"`
	RXFramesHigh    *int  `json:"rx-frames-high,omitempty"`
	RXFramesIRQ     *int  `json:"rx-frames-irq,omitempty"`
	RXFramesLow     *int  `json:"rx-frames-low,omitempty"`
	RXUsecs         *int  `json:"rx-usecs,omitempty"`
	RXUsecsHigh     *int  `json:"rx-usecs-high,omitempty"`
	RXUsecsIRQ      *int  `json:"rx-usecs-irq,omitempty"`
	RXUsecsLow      *int  `json:"rx-usecs-low,omitempty"`
	SampleInterval  *int  `json:"sample-interval,omitempty"`
	StatsBlockUsecs *int  `json:"stats-block-usecs,omitempty"`
	TXFrames        *int  `json:"tx-frames,omitempty"`
	TXFramesHigh    *int  `json:"tx-frames-high,omitempty"`
	TXFramesIRQ     *int  `json:"tx-frames-irq,omitempty"`
	TXFramesLow     *int  `json:"tx-frames-low,omitempty"`
	TXUsecs         *int  `json:"tx-usecs,omitempty"`
	TXUsecsHigh     *int  `json:"tx-usecs-high,omitempty"`
	TXUsecsIRQ      *int  `json:"tx-usecs-irq,omitempty"`
	TXUsecsLow      *int  `json:"tx-usecs-low,omitempty"`
}
