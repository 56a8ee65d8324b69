package recert

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Config is what recert_config.json asks for, as far as an address change needs it. The file's keys
// are those of the field's tool; paths in it are those inside that tool's container and are translated (hostPath).
type Config struct {
	// DryRun plans and reports without writing.
	DryRun bool
	// IPs are the node's new addresses, at most one of each family ("ip").
	IPs []netip.Addr
	// MachineNetworks replace those of the install-config, by family ("machine_network_cidr").
	MachineNetworks []netip.Prefix
	// Replace lists old and new addresses explicitly ("cn_san_replace_rules").
	Replace []AddressChange
	// InstallConfig is written into cluster-config-v1 before the machine networks are ("install_config").
	InstallConfig string
	// KubeadminPasswordHash replaces the kubeadmin Secret's hash when it is not empty.
	KubeadminPasswordHash string
	// Dirs and Files are searched on disk, as paths of the host.
	Dirs, Files []string
	// SummaryFile receives the redacted report; host.RecertSummary by default.
	SummaryFile string
	// Remarks say which keys had no effect and why.
	Remarks []string
}

// setting reads one key of the file.
type setting func(c *Config, raw json.RawMessage) error

// settings are the supported keys.
func settings() map[string]setting {
	return map[string]setting{
		"dry_run":                 func(c *Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.DryRun) },
		"ip_change_only":          requireTrue,
		"ip":                      readIPs,
		"machine_network_cidr":    readNetworks,
		"cn_san_replace_rules":    readReplaceRules,
		"install_config":          func(c *Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.InstallConfig) },
		"kubeadmin_password_hash": readKubeadmin,
		"crypto_dirs":             func(c *Config, raw json.RawMessage) error { return readPaths(&c.Dirs, raw) },
		"crypto_files":            func(c *Config, raw json.RawMessage) error { return readPaths(&c.Files, raw) },

		"cluster_customization_dirs":  func(c *Config, raw json.RawMessage) error { return readPaths(&c.Dirs, raw) },
		"cluster_customization_files": func(c *Config, raw json.RawMessage) error { return readPaths(&c.Files, raw) },
		"static_dirs":                 func(c *Config, raw json.RawMessage) error { return readPaths(&c.Dirs, raw) },
		"static_files":                func(c *Config, raw json.RawMessage) error { return readPaths(&c.Files, raw) },

		"summary_file":       func(c *Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.SummaryFile) },
		"summary_file_clean": func(c *Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.SummaryFile) },
		"etcd_endpoint":      remark("etcd_endpoint: etcd is opened on a socket of its own"),
		"threads":            remark("threads: the work is done in one"),
		"use_key_rules":      remark("use_key_rules: authorities keep their keys"),
		"use_cert_rules":     remark("use_cert_rules: authorities keep their certificates"),
	}
}

// notSupported are the keys that the field's tool knows and this engine does not do yet. Doing less
// than asked would leave a cluster that looks finished, so they are refused unless empty.
var notSupported = []string{
	"postprocess_only", "etcd_defrag", "extend_expiration", "force_expire", "cluster_rename", "hostname", "proxy",
	"pull_secret", "user_ca_bundle", "proxy_trusted_ca_bundle", "chrony_config", "regenerate_server_ssh_keys",
	"kube_encryption_config", "openshift_encryption_config", "oauth_encryption_config",
}

// ParseConfig reads recert_config.json (YAML is accepted too). Every key must be known and doable; all
// that are not are named in one error.
func ParseConfig(text []byte) (Config, error) {
	doc, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return Config{}, errors.New("parse the recert configuration: not a YAML or JSON document") // the cause may quote secrets
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(doc, &keys); err != nil {
		return Config{}, errors.New("parse the recert configuration: not an object")
	}
	c, known := Config{SummaryFile: host.RecertSummary}, settings()
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		raw := keys[key]
		switch read, ok := known[key]; {
		case ok && string(raw) == "null":
		case ok:
			if err := read(&c, raw); err != nil {
				problems = append(problems, fmt.Errorf("key %q: %w", key, plain(err)))
			}
		case slices.Contains(notSupported, key):
			if !isZero(raw) {
				problems = append(problems, fmt.Errorf("key %q is not supported yet", key))
			}
		default:
			problems = append(problems, fmt.Errorf("key %q is unknown", key))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return Config{}, fmt.Errorf("recert configuration: %w", err)
	}
	return c, c.check()
}

// check refuses two addresses or networks of one family.
func (c Config) check() error {
	for i, a := range c.IPs {
		for _, b := range c.IPs[i+1:] {
			if a.Is4() == b.Is4() {
				return fmt.Errorf("recert configuration: ip has two addresses of one family, %s and %s", a, b)
			}
		}
	}
	for i, a := range c.MachineNetworks {
		for _, b := range c.MachineNetworks[i+1:] {
			if a.Addr().Is4() == b.Addr().Is4() {
				return fmt.Errorf("recert configuration: machine_network_cidr has two networks of one family, %s and %s", a, b)
			}
		}
	}
	return nil
}

// plain drops the value that a decoding error may quote.
func plain(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("must be a %s, is a %s", kind.Type, kind.Value)
	}
	return err
}

func isZero(raw json.RawMessage) bool {
	return slices.Contains([]string{"null", "false", `""`, "[]", "{}", "0"}, string(raw))
}

func remark(text string) setting {
	return func(c *Config, raw json.RawMessage) error {
		if !isZero(raw) {
			c.Remarks = append(c.Remarks, text)
		}
		return nil
	}
}

func requireTrue(_ *Config, raw json.RawMessage) error {
	if string(raw) != "true" {
		return errors.New("only true is supported: this engine changes addresses")
	}
	return nil
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

// readReplaceRules reads "old,new"; "old:new" only where no address contains the colon.
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
		old, errOld := netip.ParseAddr(from)
		fresh, errNew := netip.ParseAddr(to)
		if !ok || errOld != nil || errNew != nil {
			return fmt.Errorf("rule %q is not \"old address,new address\", others are not supported yet", text)
		}
		c.Replace = append(c.Replace, AddressChange{old, fresh})
	}
	return nil
}

func readPaths(to *[]string, raw json.RawMessage) error {
	list, err := readStrings(raw)
	if err != nil {
		return err
	}
	for _, p := range list {
		if !path.IsAbs(p) {
			return fmt.Errorf("path %q is not absolute", p)
		}
		if p = hostPath(path.Clean(p)); !slices.Contains(*to, p) {
			*to = append(*to, p)
		}
	}
	return nil
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
