package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Message is an address or a route in rtnetlink's own form (rtnetlink(7)), with every attribute that the kernel reported:
// source, metrics and locks, protocol, scope, flags, next hops, also those that this program does not know.
type Message struct {
	Data []byte `json:"data"`
	// Links are the names of the links that the message numbers: a link that is made anew has another number.
	Links map[int]string `json:"links,omitempty"`
}

// Messages are all addresses and routes.
type Messages struct{ addresses, routes []Message }

// ReadMessages asks the kernel for all addresses and routes.
func ReadMessages() (Messages, error) {
	addresses, err := dumpMessages(unix.RTM_GETADDR, unix.RTM_NEWADDR, nl.NewIfAddrmsg(unix.AF_UNSPEC))
	if err != nil {
		return Messages{}, fmt.Errorf("list addresses: %w", err)
	}
	routes, err := dumpMessages(unix.RTM_GETROUTE, unix.RTM_NEWROUTE, nl.NewRtMsg())
	if err != nil {
		return Messages{}, fmt.Errorf("list routes: %w", err)
	}
	return Messages{addresses: addresses, routes: routes}, nil
}

func dumpMessages(ask int, answer uint16, header nl.NetlinkRequestData) ([]Message, error) {
	all, err := List(func() ([][]byte, error) {
		req := nl.NewNetlinkRequest(ask, unix.NLM_F_DUMP)
		req.AddData(header)
		return req.Execute(unix.NETLINK_ROUTE, answer)
	})
	if err != nil {
		return nil, err
	}
	out := make([]Message, len(all))
	for n, data := range all {
		out[n].Data = data
	}
	return out, nil
}

// withLinkNames adds the names of the links.
func (m Message) withLinkNames(k *State) Message {
	out := Message{Data: m.Data, Links: map[int]string{}}
	note := func(index int) { out.Links[index] = k.NameOf(index) }
	if r, err := m.parseRoute(); err == nil {
		for _, h := range r.via {
			note(h.link)
		}
	}
	if a, err := m.parseAddress(); err == nil {
		note(a.link)
	}
	return out
}

func (m Message) nameOf(index int) string { return m.Links[index] }

// indexNow is the present number of a link.
func (m Message) indexNow(index int) (int, error) {
	link, err := netlink.LinkByName(m.nameOf(index))
	if err != nil {
		return 0, fmt.Errorf("interface %s: %w", m.nameOf(index), err)
	}
	return link.Attrs().Index, nil
}

// address is what identifies an address.
type address struct {
	link   int
	prefix netip.Prefix
}

func (m Message) parseAddress() (address, error) {
	if len(m.Data) < unix.SizeofIfAddrmsg {
		return address{}, errors.New("the message of an address is too short")
	}
	header := nl.DeserializeIfAddrmsg(m.Data)
	attrs, err := parseAttributes(m.Data[unix.SizeofIfAddrmsg:])
	if err != nil {
		return address{}, err
	}
	far, _ := netip.AddrFromSlice(attrs.valueOf(unix.IFA_ADDRESS))
	own, pair := netip.AddrFromSlice(attrs.valueOf(unix.IFA_LOCAL))
	switch {
	case pair && own != far:
		return address{int(header.Index), netip.PrefixFrom(own, own.BitLen())}, nil
	case far.IsValid():
		return address{int(header.Index), netip.PrefixFrom(far, int(header.Prefixlen))}, nil
	}
	return address{}, errors.New("the message of an address has none")
}

// addAddress has the kernel add the address again.
func (m Message) addAddress() error {
	a, err := m.parseAddress()
	if err != nil {
		return err
	}
	index, err := m.indexNow(a.link)
	if err != nil {
		return err
	}
	attrs, err := parseAttributes(m.Data[unix.SizeofIfAddrmsg:])
	if err != nil {
		return err
	}
	header := *nl.DeserializeIfAddrmsg(slices.Clone(m.Data))
	header.Index = uint32(index)
	// The times of the former address ended with it; only addresses without end are put back.
	return sendMessage(unix.RTM_NEWADDR, unix.NLM_F_EXCL, header.Serialize(), attrs.withoutKinds(unix.IFA_CACHEINFO))
}

// sendMessage has the kernel make what the message says; presence says what it does where there is one already.
func sendMessage(kind, presence int, header []byte, attrs attributeList) error {
	req := nl.NewNetlinkRequest(kind, unix.NLM_F_CREATE|unix.NLM_F_ACK|presence)
	req.AddRawData(slices.Concat(header, attrs.serialize()))
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	return err
}

// attributeList is what follows the header of a message.
type attributeList []syscall.NetlinkRouteAttr

func parseAttributes(data []byte) (attributeList, error) {
	all, err := nl.ParseRouteAttr(data)
	if err != nil {
		return nil, fmt.Errorf("read the attributes of a message: %w", err)
	}
	return all, nil
}

func kindOf(a syscall.NetlinkRouteAttr) uint16 {
	return a.Attr.Type &^ (unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER)
}

// valueOf is empty where there is no such attribute.
func (l attributeList) valueOf(kind uint16) []byte {
	for _, a := range l {
		if kindOf(a) == kind {
			return a.Value
		}
	}
	return nil
}

// numberOf is 0 where there is no such attribute.
func (l attributeList) numberOf(kind uint16) int {
	if v := l.valueOf(kind); len(v) >= 4 {
		return int(binary.NativeEndian.Uint32(v))
	}
	return 0
}

func (l attributeList) withoutKinds(kinds ...uint16) attributeList {
	return slices.DeleteFunc(slices.Clone(l), func(a syscall.NetlinkRouteAttr) bool {
		return slices.Contains(kinds, kindOf(a))
	})
}

func (l attributeList) serialize() []byte {
	var out []byte
	for _, a := range l {
		out = append(out, nl.NewRtAttr(int(a.Attr.Type), a.Value).Serialize()...)
	}
	return out
}
