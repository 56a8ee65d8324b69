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

func isNoLink(err error) bool {
	var missing netlink.LinkNotFoundError
	return errors.As(err, &missing)
}
