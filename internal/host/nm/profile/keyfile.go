package profile

import (
	"strconv"
	"strings"
)

// FromKeyfile reads what observing and planning need to know of a profile that is not itself changed: its identity, what
// it is for, its methods and its DNS servers. Format: nm-settings-keyfile(5). It returns false for a text without a UUID.
func FromKeyfile(text string) (Profile, bool) {
	p := Profile{Settings: Settings{}, Light: true}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section = line[1 : len(line)-1]
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		if section == ".nmmeta" && (key == "nm-generated" || key == "volatile" || key == "external") && value == "true" {
			p.Generated = true
		}
		p.Settings.setFromKeyfile(section, strings.TrimSpace(key), strings.TrimSpace(value))
	}
	return p, p.Settings.UUID() != ""
}

// aliases are the short names of types and keys that key files use.
var aliases = map[string]string{"ethernet": TypeEthernet, "controller": "master", "port-type": "slave-type"}

func (s Settings) setFromKeyfile(section, key, value string) {
	if other, ok := aliases[key]; ok && section == "connection" {
		key = other
	}
	switch section + "." + key {
	case "connection.type":
		if other, ok := aliases[value]; ok {
			value = other
		}
		s.Set(section, key, value)
	case "connection.id", "connection.uuid", "connection.interface-name", "connection.master", "connection.slave-type",
		"ipv4.method", "ipv6.method", "vlan.parent", "macvlan.parent", "veth.peer":
		s.Set(section, key, value)
	case "ipv4.dhcp-client-id", "ipv4.dhcp-hostname", "ipv6.dhcp-duid", "ipv6.dhcp-hostname", "ipv6.token":
		s.Set(section, key, unescapeValue(value))
	case "connection.autoconnect", "ipv4.may-fail", "ipv6.may-fail", "ipv4.ignore-auto-dns", "ipv6.ignore-auto-dns",
		"ipv4.never-default", "ipv6.never-default", "ipv4.ignore-auto-routes", "ipv6.ignore-auto-routes",
		"ipv4.dhcp-send-hostname", "ipv6.dhcp-send-hostname":
		s.Set(section, key, value == "true" || value == "1")
	case "ipv4.route-table", "ipv6.route-table":
		if n, err := strconv.ParseUint(value, 10, 32); err == nil {
			s.Set(section, key, uint32(n))
		}
	case "ipv4.route-metric", "ipv6.route-metric":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			s.Set(section, key, n)
		}
	case "ipv6.addr-gen-mode":
		s.setAddrGenMode(value)
	case "connection.autoconnect-priority", "connection.lldp", "ipv4.dns-priority", "ipv6.dns-priority":
		if n, err := strconv.ParseInt(value, 10, 32); err == nil {
			s.Set(section, key, int32(n))
		}
	case "connection.timestamp":
		if n, err := strconv.ParseUint(value, 10, 64); err == nil {
			s.Set(section, key, n)
		}
	case "user." + descriptionKey:
		s.SetDescription(unescapeValue(value))
	case "ipv4.dns", "ipv6.dns":
		s.Set(section, "dns-data", splitList(value))
	case "ipv4.dns-search", "ipv6.dns-search", "ipv4.dns-options", "ipv6.dns-options":
		s.Set(section, key, splitList(value))
	}
}

// addrGenModes are the names of NetworkManager's numbers; a key file may have either.
var addrGenModes = []string{"eui64", "stable-privacy", "default-or-eui64", "default"}

func (s Settings) setAddrGenMode(value string) {
	for n, name := range addrGenModes {
		if value == name || value == strconv.Itoa(n) {
			s.Set("ipv6", "addr-gen-mode", int32(n))
		}
	}
}

// unescapeValue reads a string value of GLib's key files.
func unescapeValue(value string) string {
	return strings.NewReplacer(`\s`, " ", `\n`, "\n", `\t`, "\t", `\r`, "\r", `\\`, `\`).Replace(value)
}

func splitList(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ';' || r == ',' })
}
