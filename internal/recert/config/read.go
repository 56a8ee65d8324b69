package config

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

// ClusterName is what cluster_rename asks for.
type ClusterName struct {
	Name, Domain string
	// InfraID is empty where the cluster's own stays.
	InfraID string
}

// readCluster reads "NAME:DOMAIN" or "NAME:DOMAIN:INFRAID".
func readCluster(c *Config, text string) error {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return fmt.Errorf("%q is not \"name:domain\" or \"name:domain:infraID\"", text)
	}
	named := &ClusterName{Name: parts[0], Domain: parts[1]}
	if wrong := validation.IsDNS1123Label(named.Name); len(wrong) > 0 {
		return fmt.Errorf("the name %q cannot be a cluster's: %s", named.Name, wrong[0])
	}
	if wrong := validation.IsDNS1123Subdomain(named.Domain); len(wrong) > 0 {
		return fmt.Errorf("the domain %q cannot be a cluster's: %s", named.Domain, wrong[0])
	}
	if len(parts) == 3 {
		if wrong := validation.IsDNS1123Label(parts[2]); len(wrong) > 0 {
			return fmt.Errorf("the identifier %q cannot be an infrastructure's: %s", parts[2], wrong[0])
		}
		named.InfraID = parts[2]
	}
	c.Cluster = named
	return nil
}

func remarkSetting(text string) setting {
	return func(c *Config, raw json.RawMessage) error {
		if !isZero(raw) {
			c.Remarks = append(c.Remarks, text)
		}
		return nil
	}
}

func readKubeadmin(c *Config, raw json.RawMessage) error {
	if err := json.Unmarshal(raw, &c.KubeadminPasswordHash); err != nil {
		return fmt.Errorf("read a text: %w", err)
	}
	if c.KubeadminPasswordHash == "" {
		// The field's tool deletes the Secret for an empty hash, and its callers always send one.
		c.Remarks = append(c.Remarks, "kubeadmin_password_hash is empty: the kubeadmin Secret is not changed")
	}
	return nil
}

// fieldSetting decodes into a field.
func fieldSetting(field func(*Config) any) setting {
	return func(c *Config, raw json.RawMessage) error { return json.Unmarshal(raw, field(c)) }
}

// textSetting reads a string; an empty one has no effect.
func textSetting(read func(c *Config, text string) error) setting {
	return func(c *Config, raw json.RawMessage) error {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil || text == "" {
			return err
		}
		return read(c, text)
	}
}

// listSetting reads a list of strings, or one. An error names the element by its number: the text may be a key.
func listSetting(read func(c *Config, text string) error) setting {
	return func(c *Config, raw json.RawMessage) error {
		list := []string{""}
		if json.Unmarshal(raw, &list[0]) != nil {
			if err := json.Unmarshal(raw, &list); err != nil {
				return fmt.Errorf("read a list: %w", err)
			}
		}
		for i, text := range list {
			if err := read(c, text); err != nil {
				return fmt.Errorf("element %d: %w", i+1, err)
			}
		}
		return nil
	}
}

// pathsSetting reads a list of paths, each once.
func pathsSetting(to func(*Config) *[]string) setting {
	return listSetting(func(c *Config, text string) error {
		p, err := hostPathOf(text)
		if list := to(c); err == nil && !slices.Contains(*list, p) {
			*list = append(*list, p)
		}
		return err
	})
}

func readIP(c *Config, text string) error {
	a, err := netip.ParseAddr(text)
	c.IPs = append(c.IPs, a)
	return err
}

func readNetwork(c *Config, text string) error {
	n, err := netip.ParsePrefix(text)
	if err == nil && n != n.Masked() {
		return fmt.Errorf("%s has host bits set, the network is %s", n, n.Masked())
	}
	c.MachineNetworks = append(c.MachineNetworks, n)
	return err
}

// readReplaceRule reads "old,new"; "old:new" only where no address contains the colon. Addresses change wherever they are
// found, other names in certificates.
func readReplaceRule(c *Config, text string) error {
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
		c.Replace = append(c.Replace, replace.Address{Old: old, New: fresh})
		return nil
	case errOld == nil || errNew == nil:
		return fmt.Errorf("rule %q replaces an address by a name, or a name by an address", text)
	}
	if known, ok := c.Names[from]; ok && known != to {
		return fmt.Errorf("%s cannot become both %s and %s", from, known, to)
	}
	if c.Names == nil {
		c.Names = map[string]string{}
	}
	c.Names[from] = to
	return nil
}

func readPath(to *string, text string) error {
	p, err := hostPathOf(text)
	if err == nil {
		*to = p
	}
	return err
}

// hostPathOf translates an absolute path.
func hostPathOf(text string) (string, error) {
	if !path.IsAbs(text) {
		return "", fmt.Errorf("path %q is not absolute", text)
	}
	return hostPath(path.Clean(text)), nil
}

// mounts are the host's folders as the field's tool sees them.
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

// readHostname refuses what could not be the name of a Node.
func readHostname(c *Config, name string) error {
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return fmt.Errorf("%q cannot be the name of a node: %s", name, wrong[0])
	}
	if name == "localhost" || strings.HasPrefix(name, "localhost.") {
		return fmt.Errorf("%q is every machine's own name: choose one of the node's", name)
	}
	c.Hostname = name
	return nil
}
