package kernel

import (
	"errors"

	"github.com/vishvananda/netlink"
)

// SetLinkUp sets a link up or down; one that is gone is left alone.
func SetLinkUp(index int, up bool) error {
	link, err := netlink.LinkByIndex(index)
	switch {
	case isNoLink(err):
		return nil
	case err != nil:
		return err
	case up:
		return netlink.LinkSetUp(link)
	}
	return netlink.LinkSetDown(link)
}

// DeleteLink deletes a virtual link, if it is there.
func DeleteLink(index int) error {
	link, err := netlink.LinkByIndex(index)
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if isNoLink(err) {
		return nil
	}
	return err
}

// attachPort gives a link that has no controller that one; a link that is gone, or that its owner has put elsewhere, is left alone.
func attachPort(controller, port string) error {
	link, err := netlink.LinkByName(port)
	if isNoLink(err) || err == nil && link.Attrs().MasterIndex != 0 {
		return nil
	}
	if err != nil {
		return err
	}
	master, err := netlink.LinkByName(controller)
	if err != nil {
		return err
	}
	return netlink.LinkSetMaster(link, master)
}

func isNoLink(err error) bool {
	var missing netlink.LinkNotFoundError
	return errors.As(err, &missing)
}
