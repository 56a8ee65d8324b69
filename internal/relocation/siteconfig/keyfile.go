package siteconfig

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Connection is what a NetworkManager keyfile says of the network that a node gets by it.
type Connection struct {
	UUID, Type, Interface string
	// Addresses are the static ones. Gateways are next hops of default routes.
	Addresses []netip.Prefix
	Gateways  []netip.Addr
	DNS       []netip.Addr
}

// Connection reads a NetworkManager keyfile (nm-settings-keyfile(5)). What only NetworkManager can judge is left to it.
func (f File) Connection() (Connection, error) {
	keys, err := parseKeyfile(f.Content.Reveal())
	if err != nil {
		return Connection{}, err
	}
	c := Connection{UUID: keys["connection"]["uuid"], Type: keys["connection"]["type"], Interface: keys["connection"]["interface-name"]}
	switch {
	case keys["connection"] == nil:
		return c, errors.New("has no section [connection]")
	case c.UUID != "" && !uuidForm.MatchString(c.UUID):
		return c, fmt.Errorf("has the uuid %q, which is no UUID in lower case", shortenValue(c.UUID))
	}
	for _, family := range []string{"ipv4", "ipv6"} {
		if err := c.addFamily(family, keys[family]); err != nil {
			return c, fmt.Errorf("[%s]: %w", family, err)
		}
	}
	if c.Interface == "" && len(c.Addresses)+len(c.Gateways) > 0 {
		return c, errors.New("names no interface-name in [connection], by which the node proves its network")
	}
	return c, nil
}

// ConnectionList reads all keyfiles of a configuration that was validated.
func (c SiteConfig) ConnectionList() (out []Connection) {
	for _, f := range c.Connections {
		if read, err := f.Connection(); err == nil {
			out = append(out, read)
		}
	}
	return out
}

// parseKeyfile yields the keys of each section.
func parseKeyfile(text string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	section := map[string]string(nil)
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, MaxSize)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(line, "["); ok {
			name, closed := strings.CutSuffix(name, "]")
			if !closed || name == "" {
				return nil, fmt.Errorf("line %d is neither a section nor key=value", n)
			}
			if out[name] == nil {
				out[name] = map[string]string{}
			}
			section = out[name]
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if !found || section == nil {
			return nil, fmt.Errorf("line %d is neither a section nor key=value below one", n)
		}
		section[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read its lines: %w", err)
	}
	return out, nil
}

// addFamily reads addresses, gateway, default routes and name servers of a family.
func (c *Connection) addFamily(family string, keys map[string]string) error {
	found := len(c.Addresses)
	for key, value := range keys {
		if value == "" {
			continue
		}
		var err error
		switch strings.TrimRight(key, "0123456789") {
		case "address", "addresses":
			err = c.addAddress(value)
		case "gateway":
			c.Gateways, err = appendAddress(c.Gateways, value)
		case "route", "routes":
			err = c.addRoute(value)
		case "dns":
			for server := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ';' || r == ',' || r == ' ' }) {
				server, _, _ = strings.Cut(server, "#") // a name for TLS
				if c.DNS, err = appendAddress(c.DNS, server); err != nil {
					break
				}
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if keys["method"] == "manual" && len(c.Addresses) == found {
		return errors.New("method=manual needs an address, such as address1=192.0.2.10/24")
	}
	return nil
}

// addAddress takes IP/LENGTH, with a gateway behind it in the older form.
func (c *Connection) addAddress(value string) error {
	address, gateway, _ := strings.Cut(strings.TrimRight(value, ";,"), cmp.Or(fieldSeparator(value), ","))
	p, err := netip.ParsePrefix(strings.TrimSpace(address))
	if err != nil {
		return fmt.Errorf("%q is not an address with its prefix length, such as 192.0.2.10/24", shortenValue(value))
	}
	c.Addresses = append(c.Addresses, p)
	if gateway = strings.TrimSpace(gateway); gateway != "" {
		c.Gateways, err = appendAddress(c.Gateways, gateway)
	}
	return err
}

// addRoute takes the next hop of a default route; others need no proof.
func (c *Connection) addRoute(value string) (err error) {
	fields := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ';' })
	if len(fields) > 1 && (fields[0] == "0.0.0.0/0" || fields[0] == "::/0") {
		c.Gateways, err = appendAddress(c.Gateways, fields[1])
	}
	return err
}

// fieldSeparator is what parts the fields of an address: the first of the two that the format knows.
func fieldSeparator(value string) string {
	if i := strings.IndexAny(value, ",;"); i >= 0 {
		return value[i : i+1]
	}
	return ""
}

func appendAddress(list []netip.Addr, text string) ([]netip.Addr, error) {
	a, err := netip.ParseAddr(strings.TrimSpace(text))
	if err != nil {
		return list, fmt.Errorf("%q is not an IP address", shortenValue(text))
	}
	if a.IsUnspecified() {
		return list, nil // the format's word for none
	}
	return append(list, a), nil
}
