package network

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Both Ethernet addresses come before the tag.
const (
	addressesLen = 12
	tagLen       = 4
	largestFrame = 65536
)

// fromNode passes on what the node sends with our tag, until the socket is closed.
func (t *Tagged) fromNode() {
	conn, err := t.wire.SyscallConn()
	if err != nil {
		return
	}
	frame, beside := make([]byte, largestFrame), make([]byte, unix.CmsgSpace(int(unsafe.Sizeof(unix.TpacketAuxdata{}))))
	for {
		var got received
		mine := false
		err := conn.Read(func(fd uintptr) bool {
			got = receive(int(fd), frame, beside)
			mine = got.tagged && got.tag == t.tag && slices.Contains(cables(int(fd)), got.by)
			return !errors.Is(got.err, unix.EAGAIN)
		})
		if err != nil {
			return
		}
		if got.err == nil && mine {
			_, _ = t.tap.Write(frame[:got.length]) // a full tap drops frames, as a switch does
		}
	}
}

// toNode sends what comes out of the tap to the node, tagged, by each of its cables: the one that a bond does not use
// drops it. The cables are looked up for each frame: a machine that is powered on has new ones.
func (t *Tagged) toNode() {
	conn, err := t.wire.SyscallConn()
	if err != nil {
		return
	}
	frame := make([]byte, largestFrame)
	for {
		length, err := t.tap.Read(frame)
		if err != nil {
			return
		}
		tagged := insertTag(frame[:length], t.tag)
		_ = conn.Control(func(fd uintptr) {
			for _, cable := range cables(int(fd)) {
				_ = unix.Sendto(int(fd), tagged, 0, &unix.SockaddrLinklayer{Ifindex: cable})
			}
		})
	}
}

func insertTag(frame []byte, tag uint16) []byte {
	out := make([]byte, 0, len(frame)+tagLen)
	out = append(out, frame[:addressesLen]...)
	out = binary.BigEndian.AppendUint16(out, unix.ETH_P_8021Q)
	out = binary.BigEndian.AppendUint16(out, tag)
	return append(out, frame[addressesLen:]...)
}

// received is one frame that the socket heard.
type received struct {
	length int
	by     int // the device that it came in by; the bridge hears the same frame a second time
	tagged bool
	tag    uint16
	err    error
}

// receive reads a frame that came in by any device.
func receive(fd int, frame, beside []byte) received {
	length, besideLength, _, from, err := unix.Recvmsg(fd, frame, beside, 0)
	got := received{length: length, err: err}
	link, ok := from.(*unix.SockaddrLinklayer)
	if err != nil || !ok || link.Pkttype == unix.PACKET_OUTGOING {
		return received{err: cmp.Or(err, error(unix.ENOMSG))}
	}
	got.by = link.Ifindex
	messages, err := unix.ParseSocketControlMessage(beside[:besideLength])
	for _, m := range messages {
		if err == nil && m.Header.Level == unix.SOL_PACKET && m.Header.Type == unix.PACKET_AUXDATA {
			aux := (*unix.TpacketAuxdata)(unsafe.Pointer(unsafe.SliceData(m.Data))) //nolint:gosec // the kernel put this structure there
			got.tagged, got.tag = aux.Status&unix.TP_STATUS_VLAN_VALID != 0, aux.Vlan_tci&0xfff
		}
	}
	return got
}

// cables are the numbers of the devices at the LAN's ends of the node's cables.
func cables(fd int) (found []int) {
	for card, device := 1, port; ; card, device = card+1, cardPrefix+strconv.Itoa(card) {
		number := index(fd, device)
		if number == 0 {
			return found
		}
		found = append(found, number)
	}
}

// index is a device's number in the namespace of the socket; 0 for none.
func index(fd int, device string) int {
	request, err := unix.NewIfreq(device)
	if err != nil || unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, request) != nil {
		return 0
	}
	return int(request.Uint32())
}
