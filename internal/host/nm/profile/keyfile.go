package profile

import (
	"strconv"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
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
	if _, says := p.Settings["ipv6"]["addr-gen-mode"]; !says {
		p.Settings.setAddrGenMode("default-or-eui64") // so NetworkManager reads it
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
		"ipv4.method", "ipv6.method", "vlan.parent", "macvlan.parent", "macsec.parent", "ipvlan.parent", "veth.peer":
		s.Set(section, key, value)
	case "connection.autoconnect", "ipv4.may-fail", "ipv6.may-fail":
		s.Set(section, key, value == "true" || value == "1")
	case "ipv6.addr-gen-mode":
		s.setAddrGenMode(value)
	case "connection.autoconnect-priority", "ipv4.dns-priority", "ipv6.dns-priority":
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
	default:
		if p, ok := keys.HeldBy(section, key); ok && (observed[section] || keys.IsStored(section, key)) {
			s.setProperty(p, value)
		}
	}
}

// observed are the sections whose properties an observation reads.
var observed = map[string]bool{"connection": true, "ipv4": true, "ipv6": true, "bridge": true, "ovs-bridge": true}

// setProperty reads a property that holds a key of network documents; a number that it cannot have is left out, as NetworkManager
// does.
func (s Settings) setProperty(p keys.Property, value string) {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case p.Form == keys.Text:
		s.Set(p.Setting, p.Name, unescapeValue(value))
	case p.Form == keys.Texts:
		s.Set(p.Setting, p.Name, splitList(value))
	case p.Form == keys.File:
		s.Set(p.Setting, p.Name, FileValue(strings.TrimPrefix(unescapeValue(value), fileScheme)))
	case p.Form == keys.Flag || p.Form == keys.Opposite:
		s.Set(p.Setting, p.Name, value == "true" || value == "1")
	case err != nil:
	case (p.Form == keys.Number || p.Form == keys.Flags) && n == int64(uint32(n)):
		s.Set(p.Setting, p.Name, uint32(n))
	case (p.Form == keys.Signed || p.Form == keys.Ternary) && n == int64(int32(n)):
		s.Set(p.Setting, p.Name, int32(n))
	case p.Form == keys.Long:
		s.Set(p.Setting, p.Name, n)
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
