package kernel

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
)

// Commands and numbers of linux/ethtool.h.
const (
	ethtoolGetSettings = 0x1
	ethtoolGetCoalesce = 0xe
	ethtoolGetRing     = 0x10
	ethtoolGetPause    = 0x12
	ethtoolGetStrings  = 0x1b
	ethtoolGetSetInfo  = 0x37
	ethtoolGetFeatures = 0x3a

	duplexHalf  = 0
	duplexFull  = 1
	setFeatures = 4
	nameSize    = 32
)

// Drivers asks the drivers of links what they do. Close it.
type Drivers struct {
	fd int
	// names of features, by their bits; they are the kernel's and alike for all links.
	names []string
}

// OpenDrivers opens a way to ask. Without one, no link tells anything.
func OpenDrivers() *Drivers {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		fd = -1
	}
	return &Drivers{fd: fd}
}

// Close ends it.
func (d *Drivers) Close() {
	if d.fd >= 0 {
		_ = unix.Close(d.fd)
	}
}

// askDriver sends a command with room for the answer, of which the first number is the command.
func (d *Drivers) askDriver(link string, command uint32, message []byte) bool {
	binary.NativeEndian.PutUint32(message, command)
	request := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte // the kernel copies a whole struct ifreq
	}{data: unsafe.Pointer(&message[0])} //nolint:gosec // the kernel's way to ask is a pointer
	copy(request.name[:unix.IFNAMSIZ-1], link)
	//nolint:gosec // the kernel's way to ask is a pointer
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(d.fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	return e == 0
}

// readNumbers reads those that answer a command; nil where the driver does not tell.
func (d *Drivers) readNumbers(link string, command uint32, count int) []int {
	message := make([]byte, 4*(count+1))
	if !d.askDriver(link, command, message) {
		return nil
	}
	out := make([]int, count)
	for n := range out {
		out[n] = int(binary.NativeEndian.Uint32(message[4*(n+1):]))
	}
	return out
}

// ReadEthernet reads the link settings of a card; nil where its driver does not tell. What is unknown while the link is down is left
// out. The answer is struct ethtool_cmd.
func (d *Drivers) ReadEthernet(link string) *netstate.Ethernet {
	message := make([]byte, 44)
	if !d.askDriver(link, ethtoolGetSettings, message) {
		return nil
	}
	const speedAt, duplexAt, autonegAt, speedHighAt = 12, 14, 18, 28
	out := &netstate.Ethernet{AutoNegotiation: new(message[autonegAt] != 0)}
	speed := uint32(binary.NativeEndian.Uint16(message[speedHighAt:]))<<16 | uint32(binary.NativeEndian.Uint16(message[speedAt:]))
	if speed != 0 && int32(speed) > 0 && speed != 0xffff {
		out.Speed = int(speed)
	}
	switch message[duplexAt] {
	case duplexHalf:
		out.Duplex = "half"
	case duplexFull:
		out.Duplex = "full"
	}
	return out
}

// ReadEthtool reads what the driver of a link does with frames; nil where it does not tell.
func (d *Drivers) ReadEthtool(link string) *netstate.Ethtool {
	out := &netstate.Ethtool{
		Features: d.readFeatures(link), Pause: d.readPause(link), Ring: d.readRing(link), Coalesce: d.readCoalesce(link),
	}
	if len(out.Features) == 0 && out.Pause == nil && out.Ring == nil && out.Coalesce == nil {
		return nil
	}
	return out
}

func (d *Drivers) readPause(link string) *netstate.Pause {
	n := d.readNumbers(link, ethtoolGetPause, 3)
	if n == nil {
		return nil
	}
	return &netstate.Pause{Autoneg: new(n[0] != 0), RX: new(n[1] != 0), TX: new(n[2] != 0)}
}

// readRing leaves out the queues that the card does not have.
func (d *Drivers) readRing(link string) *netstate.Ring {
	n := d.readNumbers(link, ethtoolGetRing, 8)
	if n == nil {
		return nil
	}
	out := &netstate.Ring{}
	for k, at := range []struct{ now, most **int }{
		{&out.RX, &out.RXMax}, {&out.RXMini, &out.RXMiniMax}, {&out.RXJumbo, &out.RXJumboMax}, {&out.TX, &out.TXMax},
	} {
		if n[k] != 0 {
			*at.most, *at.now = new(n[k]), new(n[k+4])
		}
	}
	return out
}

func (d *Drivers) readCoalesce(link string) *netstate.Coalesce {
	n := d.readNumbers(link, ethtoolGetCoalesce, 22)
	if n == nil {
		return nil
	}
	return &netstate.Coalesce{
		RXUsecs: &n[0], RXFrames: &n[1], RXUsecsIRQ: &n[2], RXFramesIRQ: &n[3],
		TXUsecs: &n[4], TXFrames: &n[5], TXUsecsIRQ: &n[6], TXFramesIRQ: &n[7], StatsBlockUsecs: &n[8],
		AdaptiveRX: new(n[9] != 0), AdaptiveTX: new(n[10] != 0), PktRateLow: &n[11],
		RXUsecsLow: &n[12], RXFramesLow: &n[13], TXUsecsLow: &n[14], TXFramesLow: &n[15], PktRateHigh: &n[16],
		RXUsecsHigh: &n[17], RXFramesHigh: &n[18], TXUsecsHigh: &n[19], TXFramesHigh: &n[20], SampleInterval: &n[21],
	}
}

// readFeatures reads those of a link that can be switched, by its driver and by NetworkManager.
func (d *Drivers) readFeatures(link string) map[string]bool {
	names := d.readFeatureNames(link)
	if names == nil {
		return nil
	}
	const head, block = 8, 16 // a block has 32 bits each of: available, requested, active, never changed
	blocks := (len(names) + 31) / 32
	message := make([]byte, head+block*blocks)
	binary.NativeEndian.PutUint32(message[4:], uint32(blocks))
	if !d.askDriver(link, ethtoolGetFeatures, message) {
		return nil
	}
	out := map[string]bool{}
	for n, name := range names {
		of := func(word int) bool {
			return binary.NativeEndian.Uint32(message[head+block*(n/32)+4*word:])&(1<<(n%32)) != 0
		}
		if _, settable := keys.FeatureProperty(name); settable && of(0) && !of(3) {
			out[name] = of(2)
		}
	}
	return out
}

func (d *Drivers) readFeatureNames(link string) []string {
	if d.names != nil {
		return d.names
	}
	info := make([]byte, 20)
	binary.NativeEndian.PutUint64(info[8:], 1<<setFeatures)
	if !d.askDriver(link, ethtoolGetSetInfo, info) {
		return nil
	}
	count := int(binary.NativeEndian.Uint32(info[16:]))
	message := make([]byte, 12+nameSize*count)
	binary.NativeEndian.PutUint32(message[4:], setFeatures)
	binary.NativeEndian.PutUint32(message[8:], uint32(count))
	if !d.askDriver(link, ethtoolGetStrings, message) {
		return nil
	}
	for n := range count {
		name, _, _ := bytes.Cut(message[12+nameSize*n:12+nameSize*(n+1)], []byte{0})
		d.names = append(d.names, string(name))
	}
	return d.names
}
