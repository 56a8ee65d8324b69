package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Tagged is a part of the LAN that the node reaches in one VLAN only (IEEE 802.1Q). It works without the kernel's 8021q,
// which not every machine has: frames are tagged and untagged here, between the node's port and a tap that carries the
// addresses.
type Tagged struct {
	network   Network
	tag       uint16
	addresses []netip.Prefix
	wire      *os.File // a packet socket that hears every frame of the LAN
	tap       *os.File
	pumps     sync.WaitGroup
}

// Tag takes a site's addresses out of the untagged LAN and puts them into a VLAN, until Close.
func (n Network) Tag(ctx context.Context, vlan int, site Site) (*Tagged, error) {
	t := &Tagged{network: n, tag: uint16(vlan), addresses: site.addresses()}
	if err := n.Outside(t.open); err != nil {
		return nil, fmt.Errorf("make VLAN %d of the LAN: %w", vlan, err)
	}
	t.pumps.Go(t.fromNode)
	t.pumps.Go(t.toNode)
	if err := t.move(ctx); err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	return t, nil
}

// Close gives the addresses back to the untagged LAN.
func (t *Tagged) Close(ctx context.Context) error {
	err := errors.Join(t.wire.Close(), t.tap.Close()) // the tap's addresses go with it
	t.pumps.Wait()
	for _, address := range t.addresses {
		err = errors.Join(err, t.network.Restore(ctx, address))
	}
	return err
}

func (t *Tagged) device() string { return "vlan" + strconv.Itoa(int(t.tag)) }

func (t *Tagged) move(ctx context.Context) error {
	for _, address := range t.addresses {
		if err := t.network.Drop(ctx, address); err != nil {
			return err
		}
		if err := t.network.add(ctx, address, t.device()); err != nil {
			return err
		}
	}
	return t.network.lan(ctx, "link set "+t.device()+" up")
}

// open runs inside the LAN: a socket and a tap belong to the namespace they are made in.
func (t *Tagged) open() error {
	wire, err := packetSocket()
	if err != nil {
		return err
	}
	tap, err := newTap(t.device())
	if err != nil {
		return errors.Join(err, unix.Close(wire))
	}
	t.wire, t.tap = os.NewFile(uintptr(wire), "packet socket"), os.NewFile(uintptr(tap), t.device())
	return nil
}

func packetSocket() (int, error) {
	const everything = unix.ETH_P_ALL << 8 // in network byte order, on a little-endian machine
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, everything)
	if err != nil {
		return 0, fmt.Errorf("open a packet socket: %w", err)
	}
	// The kernel takes the tag out of a frame that it receives, and tells it beside the frame.
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1); err != nil {
		return 0, errors.Join(fmt.Errorf("ask for the tags of frames: %w", err), unix.Close(fd))
	}
	return fd, nil
}

func newTap(name string) (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return 0, errors.Join(fmt.Errorf("name the tap %s: %w", name, err), unix.Close(fd))
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return 0, errors.Join(fmt.Errorf("make the tap %s: %w", name, err), unix.Close(fd))
	}
	return fd, nil
}
