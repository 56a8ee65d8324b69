package kernel

import (
	"encoding/binary"
	"unsafe"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Numbers of linux/if_link.h that the library does not know.
const (
	iflaMACVLANFlags   = 2
	macvlanNoPromisc   = 1
	ethtoolGetSettings = 0x1
	duplexHalf         = 0
	duplexFull         = 1
)

// MACVLANPromiscuous says whether a link of kind macvlan switches its base to promiscuous mode where it has to; nil where the
// kernel does not tell.
func MACVLANPromiscuous(index int) *bool {
	req := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_ACK)
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Index = int32(index)
	req.AddData(msg)
	all, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	if err != nil || len(all) == 0 {
		return nil
	}
	data := all[0][nl.DeserializeIfInfomsg(all[0]).Len():]
	for _, inner := range []uint16{unix.IFLA_LINKINFO, nl.IFLA_INFO_DATA, iflaMACVLANFlags} {
		if data = findAttribute(data, inner); data == nil {
			return nil
		}
	}
	if len(data) < 2 {
		return nil
	}
	return new(binary.NativeEndian.Uint16(data)&macvlanNoPromisc == 0)
}

// findAttribute is the value of an attribute in a list of them.
func findAttribute(data []byte, kind uint16) []byte {
	attrs, err := nl.ParseRouteAttr(data)
	if err != nil {
		return nil
	}
	for _, a := range attrs {
		if a.Attr.Type&^unix.NLA_F_NESTED == kind {
			return a.Value
		}
	}
	return nil
}

// ethtoolSettings is struct ethtool_cmd of linux/ethtool.h.
type ethtoolSettings struct {
	cmd       uint32
	_         [2]uint32 // supported and advertised modes
	speed     uint16
	duplex    uint8
	_         [3]uint8 // port, phy_address, transceiver
	autoneg   uint8
	_         uint8     // mdio_support
	_         [2]uint32 // maxtxpkt, maxrxpkt
	speedHigh uint16
	_         [2]uint8  // eth_tp_mdix and its control
	_         [3]uint32 // lp_advertising, reserved
}

// Ethernet are the link settings of a card; nil where its driver does not tell. What is unknown while the link is down is left
// out.
func Ethernet(name string) *netstate.Ethernet {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	settings := ethtoolSettings{cmd: ethtoolGetSettings}
	request := struct {
		name [unix.IFNAMSIZ]byte
		data *ethtoolSettings
		_    [16]byte // the kernel copies a whole struct ifreq
	}{data: &settings}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	//nolint:gosec // the kernel's way to ask for link settings is a pointer
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); e != 0 {
		return nil
	}
	out := &netstate.Ethernet{AutoNegotiation: new(settings.autoneg != 0)}
	speed := uint32(settings.speedHigh)<<16 | uint32(settings.speed)
	if speed != 0 && int32(speed) > 0 && speed != 0xffff {
		out.Speed = int(speed)
	}
	switch settings.duplex {
	case duplexHalf:
		out.Duplex = "half"
	case duplexFull:
		out.Duplex = "full"
	}
	return out
}
