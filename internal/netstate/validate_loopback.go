package netstate

import "strings"

// isLoopback says that the loopback interface is meant.
func (i Interface) isLoopback() bool { return i.Type == TypeLoopback || i.Name == LoopbackName }

// checkLoopback refuses what the loopback interface cannot be: it always is up with the kernel's addresses, and has no hardware.
func (v *validator) checkLoopback(i Interface) {
	if !i.isLoopback() {
		return
	}
	refuse := func(key string, said bool, reason string) {
		if v.at = i.keyPath(key); said {
			v.addProblem("%s", reason)
		}
	}
	refuse("type", i.Type != "" && i.Type != TypeLoopback, "the interface lo is of type loopback")
	refuse("name", i.Name != LoopbackName, "the only interface of type loopback is lo")
	refuse("state", i.State == StateDown, "the loopback interface cannot be down; absent takes its configuration away")
	refuse("mac-address", strings.Trim(i.MACAddress, "0:") != "" || i.CopyMACFrom != "", "the loopback interface has no MAC address")
	refuse("controller", textOf(i.Controller) != "", "the loopback interface cannot be a port")
	for _, f := range []Family{IPv4, IPv6} {
		if ip := f.Of(i); ip != nil {
			refuse(strings.ToLower(f.String()), ip.Off(), "the kernel needs "+f.String()+" on the loopback interface")
			refuse(strings.ToLower(f.String()), isTrue(ip.DHCP) || isTrue(ip.Autoconf), "no network gives the loopback interface addresses")
		}
	}
}
