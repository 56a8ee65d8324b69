package recert

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
)

func remark(text string) setting {
	return func(c *Config, raw json.RawMessage) error {
		if !isZero(raw) {
			c.Remarks = append(c.Remarks, text)
		}
		return nil
	}
}

func readKubeadmin(c *Config, raw json.RawMessage) error {
	if err := json.Unmarshal(raw, &c.KubeadminPasswordHash); err != nil {
		return err
	}
	if c.KubeadminPasswordHash == "" {
		// The field's tool takes an empty hash for an order to delete the Secret, and its callers always send one.
		c.Remarks = append(c.Remarks, "kubeadmin_password_hash is empty: the kubeadmin Secret is left alone")
	}
	return nil
}

// readStrings accepts one string or a list.
func readStrings(raw json.RawMessage) ([]string, error) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var list []string
	err := json.Unmarshal(raw, &list)
	return list, err
}

func readIPs(c *Config, raw json.RawMessage) error {
	list, err := readStrings(raw)
	if err != nil {
		return err
	}
	for _, text := range list {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return err
		}
		c.IPs = append(c.IPs, a)
	}
	return nil
}

func readNetworks(c *Config, raw json.RawMessage) error {
	list, err := readStrings(raw)
	if err != nil {
		return err
	}
	for _, text := range list {
		n, err := netip.ParsePrefix(text)
		if err != nil {
			return err
		}
		if n != n.Masked() {
			return fmt.Errorf("%s has host bits set, the network is %s", n, n.Masked())
		}
		c.MachineNetworks = append(c.MachineNetworks, n)
	}
	return nil
}

// readReplaceRules reads "old,new"; "old:new" only where no address contains the colon. Addresses change wherever they are
// found, other names in certificates.
func readReplaceRules(c *Config, raw json.RawMessage) error {
	list, err := readStrings(raw)
	if err != nil {
		return err
	}
	for _, text := range list {
		from, to, ok := strings.Cut(text, ",")
		if !ok {
			from, to, ok = strings.Cut(text, ":")
		}
		from, to = strings.TrimSpace(from), strings.TrimSpace(to)
		if !ok || from == "" || to == "" {
			return fmt.Errorf("rule %q is not \"old,new\"", text)
		}
		old, errOld := netip.ParseAddr(from)
		fresh, errNew := netip.ParseAddr(to)
		switch {
		case errOld == nil && errNew == nil:
			c.Replace = append(c.Replace, AddressChange{old, fresh})
		case errOld != nil && errNew != nil:
			if c.Names == nil {
				c.Names = map[string]string{}
			}
			if known, ok := c.Names[from]; ok && known != to {
				return fmt.Errorf("%s cannot become both %s and %s", from, known, to)
			}
			c.Names[from] = to
		default:
			return fmt.Errorf("rule %q replaces an address by a name, or a name by an address", text)
		}
	}
	return nil
}

func readPaths(to *[]string, raw json.RawMessage) error {
	list, err := readStrings(raw)
	if err != nil {
		return err
	}
	for _, text := range list {
		p, err := absolute(text)
		if err != nil {
			return err
		}
		if !slices.Contains(*to, p) {
			*to = append(*to, p)
		}
	}
	return nil
}

// readPath reads one path; an empty one leaves what is there.
func readPath(to *string, raw json.RawMessage) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil || text == "" {
		return err
	}
	p, err := absolute(text)
	if err == nil {
		*to = p
	}
	return err
}

// absolute translates a path that says where it begins.
func absolute(text string) (string, error) {
	if !path.IsAbs(text) {
		return "", fmt.Errorf("path %q is not absolute", text)
	}
	return hostPath(path.Clean(text)), nil
}

// mounts says where the field's tool sees the host's folders.
var mounts = [][2]string{
	{"/kubernetes", "/etc/kubernetes"}, {"/kubelet", "/var/lib/kubelet"}, {"/machine-config-daemon", "/etc/machine-config-daemon"},
	{"/host-etc", "/etc"}, {"/ssh", "/etc/ssh"}, {"/pki", "/etc/pki"},
}

// hostPath translates a path of that tool's container; a path outside its mounts is the host's already.
func hostPath(p string) string {
	for _, m := range mounts {
		if rest, ok := strings.CutPrefix(p, m[0]); ok && (rest == "" || rest[0] == '/') {
			return m[1] + rest
		}
	}
	return p
}

func readHostname(c *Config, raw json.RawMessage) error {
	if err := json.Unmarshal(raw, &c.Hostname); err != nil || c.Hostname == "" {
		return err
	}
	return checkHostname(c.Hostname)
}
