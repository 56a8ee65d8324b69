package lab

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// cards is how many network cards a new node has besides the first.
func (t Tools) cards() int {
	if t.Bond {
		return max(t.Cards, 1)
	}
	return t.Cards
}

// writeUplink writes the static NetworkManager key files of the node's uplink: its network card, or a bond of two.
func writeUplink(etc string, site cluster.Site, bond bool) error {
	name, uplink := network.Uplink, "uuid=6e1f7b0a-51e0-4d3c-8f0e-0a0000000001\ntype=ethernet\ninterface-name="+network.Uplink+"\n\n[ethernet]\n"
	if bond {
		if err := writeBondPorts(etc); err != nil {
			return err
		}
		name, uplink = network.Bond, bondSections
	}
	var text strings.Builder
	text.WriteString(uplink)
	for _, family := range []struct {
		section string
		is      func(netip.Addr) bool
	}{{"ipv4", netip.Addr.Is4}, {"ipv6", netip.Addr.Is6}} {
		fmt.Fprintf(&text, "\n[%s]\n%s", family.section, ipSection(site, family.is))
	}
	return writeProfile(etc, name, text.String())
}

// writeProfile writes a key file. NetworkManager ignores one that others may read.
func writeProfile(etc, name, text string) error {
	path := filepath.Join(etc, "NetworkManager/system-connections", name+".nmconnection")
	return os.WriteFile(path, []byte("[connection]\nid="+name+"\n"+text), 0o600)
}

// bondSections are those of the bond's key file besides its addresses. Its MAC address is the first card's, which the
// node's cluster is tied to, whichever port is there first.
const bondSections = `uuid=6e1f7b0a-51e0-4d3c-8f0e-0a0000000002
type=bond
interface-name=` + network.Bond + `
autoconnect-slaves=1

[ethernet]
cloned-mac-address=` + network.UplinkMAC + `

[bond]
mode=active-backup
miimon=100
primary=` + network.Uplink + `
`

// writeBondPorts writes the key files of the bond's ports, and names the second card.
func writeBondPorts(etc string) error {
	for n, port := range []string{network.Uplink, network.Second} {
		text := fmt.Sprintf("uuid=6e1f7b0a-51e0-4d3c-8f0e-0a000000001%d\ntype=ethernet\ninterface-name=%s\ncontroller=%s\nport-type=bond\n\n[ethernet]\n",
			n, port, network.Bond)
		if err := writeProfile(etc, network.Bond+"-"+port, text); err != nil {
			return err
		}
	}
	dir := filepath.Join(etc, "systemd/network")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	link := "[Match]\nType=ether\nMACAddress=" + network.CardMAC(1) + "\n\n[Link]\nName=" + network.Second + "\n"
	return os.WriteFile(filepath.Join(dir, "11-second.link"), []byte(link), 0o644)
}

// ipSection is one family's part of a key file (NetworkManager's nm-settings-keyfile(5)).
func ipSection(site cluster.Site, is func(netip.Addr) bool) string {
	var lines []string
	for _, address := range site.Addresses {
		if is(address.Addr()) {
			lines = append(lines, fmt.Sprintf("address%d=%s", len(lines)+1, address))
		}
	}
	if len(lines) == 0 {
		return "method=disabled\n"
	}
	lines = append([]string{"method=manual"}, lines...)
	for _, gateway := range site.Gateways {
		if is(gateway) {
			lines = append(lines, "gateway="+gateway.String())
		}
	}
	var servers strings.Builder
	for _, server := range site.DNS {
		if is(server) {
			fmt.Fprintf(&servers, "%s;", server)
		}
	}
	if servers.Len() > 0 {
		lines = append(lines, "dns="+servers.String())
	}
	return strings.Join(lines, "\n") + "\n"
}
