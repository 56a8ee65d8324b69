package kernel

import (
	"encoding/binary"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Numbers of linux/if_link.h that the library does not know.
const (
	iflaMACVLANFlags = 2
	macvlanNoPromisc = 1
)

// MACVLANPromiscuous says whether a link of kind macvlan switches its base to promiscuous mode where it has to; nil where the
// kernel does not tell.
func MACVLANPromiscuous(index int) *bool {
	data := findAttribute(readLinkData(index), iflaMACVLANFlags)
	if len(data) < 2 {
		return nil
	}
	return new(binary.NativeEndian.Uint16(data)&macvlanNoPromisc == 0)
}

// readLinkData are the attributes that only links of a kind have; nil where the kernel does not tell.
func readLinkData(index int) []byte {
	req := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_ACK)
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Index = int32(index)
	req.AddData(msg)
	all, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	if err != nil || len(all) == 0 {
		return nil
	}
	data := all[0][nl.DeserializeIfInfomsg(all[0]).Len():]
	return findAttribute(findAttribute(data, unix.IFLA_LINKINFO), nl.IFLA_INFO_DATA)
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
