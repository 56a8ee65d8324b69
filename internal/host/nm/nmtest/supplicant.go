package nmtest

import "github.com/godbus/dbus/v5"

// StartSupplicant runs wpa_supplicant, which NetworkManager asks for 802.1X and for the keys of MACsec. The test is skipped where there is
// none.
func (n *Node) StartSupplicant() {
	n.t.Helper()
	n.needsProgram("wpa_supplicant")
	n.startBackground("wpa_supplicant", "-u", "-O", "/run/wpa_supplicant")
	n.Until("wpa_supplicant is on the bus", func() bool {
		conn, err := dbus.Connect(BusAddress)
		if err != nil {
			return false
		}
		defer conn.Close()
		var owned bool
		err = conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, "fi.w1.wpa_supplicant1").Store(&owned)
		return err == nil && owned
	})
}

// needsProgram skips the test where a program is missing.
func (n *Node) needsProgram(name string) {
	n.t.Helper()
	if _, err := findBinary(name); err != nil {
		n.t.Skipf("reason: %v", err)
	}
	n.t.Attr("uses", name)
}
