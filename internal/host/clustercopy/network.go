package clustercopy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// uplink is the name of the interface that has the addresses.
const uplink = "uplink"

// Isolate implements host.ControlPlaneCopies.
func (c *Copies) Isolate(_ context.Context, own []netip.Prefix) error {
	if err := c.removeNamespace(); err != nil {
		return err
	}
	if err := c.makeNamespace(); err != nil {
		return err
	}
	if err := c.configureNamespace(own); err != nil {
		return errors.Join(err, c.removeNamespace())
	}
	return nil
}

// makeNamespace mounts a new network namespace on its file. The thread that was in it ends with the goroutine.
func (c *Copies) makeNamespace() error {
	if err := os.MkdirAll(filepath.Dir(c.o.Namespace), 0o700); err != nil {
		return fmt.Errorf("make the folder of the copy's network: %w", err)
	}
	if err := os.WriteFile(c.o.Namespace, nil, 0o600); err != nil {
		return fmt.Errorf("make the copy's network: %w", err)
	}
	made := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			made <- fmt.Errorf("make the copy's network: %w", err)
			return
		}
		thread := fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid())
		if err := unix.Mount(thread, c.o.Namespace, "", unix.MS_BIND, ""); err != nil {
			made <- fmt.Errorf("keep the copy's network: %w", err)
			return
		}
		made <- nil
	}()
	return <-made
}

// configureNamespace brings up the loopback and an uplink that leads nowhere: a dummy or, where the kernel has none, one end of a pair.
func (c *Copies) configureNamespace(own []netip.Prefix) error {
	at, err := netns.GetFromPath(c.o.Namespace)
	if err != nil {
		return fmt.Errorf("open the copy's network: %w", err)
	}
	defer func() { _ = at.Close() }()
	h, err := netlink.NewHandleAt(at)
	if err != nil {
		return fmt.Errorf("open the copy's network: %w", err)
	}
	defer h.Close()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = uplink
	up := []string{"lo", uplink}
	if err := h.LinkAdd(&netlink.Dummy{LinkAttrs: attrs}); err != nil {
		if perr := h.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "nowhere"}); perr != nil {
			return fmt.Errorf("make the uplink of the copy: %w", errors.Join(err, perr))
		}
		up = append(up, "nowhere")
	}
	for _, name := range up {
		link, err := h.LinkByName(name)
		if err == nil {
			err = h.LinkSetUp(link)
		}
		if err != nil {
			return fmt.Errorf("bring up %s of the copy: %w", name, err)
		}
	}
	return addAddresses(h, own)
}

// addAddresses adds them without the wait for another machine that may have them: there is none.
func addAddresses(h *netlink.Handle, own []netip.Prefix) error {
	link, err := h.LinkByName(uplink)
	if err != nil {
		return fmt.Errorf("find the uplink of the copy: %w", err)
	}
	for _, p := range own {
		ip := net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
		if err := h.AddrAdd(link, &netlink.Addr{IPNet: &ip, Flags: unix.IFA_F_NODAD}); err != nil {
			return fmt.Errorf("give the copy its address %s: %w", p, err)
		}
	}
	return nil
}

// removeNamespace takes the mount away, where this process sees one, and its file.
func (c *Copies) removeNamespace() error {
	err := unix.Unmount(c.o.Namespace, unix.MNT_DETACH)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove the copy's network: %w", err)
	}
	if err := os.Remove(c.o.Namespace); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the copy's network: %w", err)
	}
	return nil
}
