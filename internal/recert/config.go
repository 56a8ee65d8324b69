package recert

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

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
	// Names lists names of certificates (common names, DNS names) and what takes their place ("cn_san_replace_rules").
	Names map[string]string
	// Expiry says what becomes of the validity of certificates ("extend_expiration", "force_expire").
	Expiry Expiry
	// AddressesOnly leaves authorities and their keys alone whatever the other rules say ("ip_change_only").
	AddressesOnly bool
	// PostprocessOnly leaves all certificates alone ("postprocess_only").
	PostprocessOnly bool
	// UseKeys and UseCerts give authorities the keys, or put in the place of authorities the certificates, that a
	// cluster had before.
	UseKeys  []KeyRule
	UseCerts []string
	// PullSecret, UserCABundle, TrustedCA, Proxy and Chrony replace what the cluster has of them.
	PullSecret   string
	UserCABundle string
	TrustedCA    *TrustedCA
	Proxy        *Proxy
	Chrony       string
	// Cluster is what the cluster is to be called ("cluster_rename").
	Cluster *ClusterName
	// Hostname is the node's new name; the old one is found in the cluster.
	Hostname string
	// Defragment drops the store's history at the end and gives the space back ("etcd_defrag").
	Defragment bool
	// ServerSSHKeys is the folder whose SSH host keys are made anew, as a path of the host.
	ServerSSHKeys string
	// KubeadminPasswordHash replaces the kubeadmin Secret's hash when it is not empty.
	KubeadminPasswordHash string
	// Dirs and Files are searched on disk, as paths of the host.
	Dirs, Files []string
	// SummaryFile receives the redacted report; host.RecertSummary by default.
	SummaryFile string
	// Remarks say which keys had no effect and why.
	Remarks []string
}

// Expiry is a change of the validity of all certificates.
type Expiry string

// Changes of the validity.
const (
	KeepExpiry   Expiry = ""
	ExtendExpiry Expiry = "extend" // as long as before, from now on
	ForceExpiry  Expiry = "force"  // until now
)

// setting reads one key of the file.
type setting func(c *Config, raw json.RawMessage) error

// settings are the supported keys.
func settings() map[string]setting {
	return map[string]setting{
		"dry_run":                 func(c *Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.DryRun) },
		"ip_change_only":          func(c *Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.AddressesOnly) },
		"postprocess_only":        func(c *Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.PostprocessOnly) },
		"extend_expiration":       readExpiry(ExtendExpiry),
		"force_expire":            readExpiry(ForceExpiry),
		"ip":                      readIPs,
		"machine_network_cidr":    readNetworks,
		"cn_san_replace_rules":    readReplaceRules,
		"etcd_defrag":             func(c *Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.Defragment) },
		"cluster_rename":          readCluster,
		"hostname":                readHostname,
		"install_config":          func(c *Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.InstallConfig) },
		"kubeadmin_password_hash": readKubeadmin,
		"crypto_dirs":             func(c *Config, raw json.RawMessage) error { return readPaths(&c.Dirs, raw) },
		"crypto_files":            func(c *Config, raw json.RawMessage) error { return readPaths(&c.Files, raw) },

		"cluster_customization_dirs":  func(c *Config, raw json.RawMessage) error { return readPaths(&c.Dirs, raw) },
		"cluster_customization_files": func(c *Config, raw json.RawMessage) error { return readPaths(&c.Files, raw) },
		"static_dirs":                 func(c *Config, raw json.RawMessage) error { return readPaths(&c.Dirs, raw) },
		"static_files":                func(c *Config, raw json.RawMessage) error { return readPaths(&c.Files, raw) },

		"summary_file":       func(c *Config, raw json.RawMessage) error { return readPath(&c.SummaryFile, raw) },
		"summary_file_clean": func(c *Config, raw json.RawMessage) error { return readPath(&c.SummaryFile, raw) },
		"etcd_endpoint":      remark("etcd_endpoint: etcd is opened on a socket of its own"),
		"threads":            remark("threads: the work is done in one"),
		"use_key_rules":      readKeyRules,
		"use_cert_rules":     readCertRules,

		"pull_secret":                func(c *Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.PullSecret) },
		"user_ca_bundle":             func(c *Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.UserCABundle) },
		"proxy_trusted_ca_bundle":    readTrustedCA,
		"proxy":                      readProxy,
		"chrony_config":              func(c *Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.Chrony) },
		"regenerate_server_ssh_keys": func(c *Config, raw json.RawMessage) error { return readPath(&c.ServerSSHKeys, raw) },
	}
}

// refused are the keys that the field's tool knows and this engine does not do. Doing less than asked would leave a
// cluster that looks finished, so they are refused by name, with what to do instead, unless they are empty.
func refused() map[string]string {
	const encrypted = "values encrypted at rest are not read: turn encryption off first (APIServer cluster, spec.encryption.type: identity)"
	return map[string]string{
		"kube_encryption_config":      encrypted,
		"openshift_encryption_config": encrypted,
		"oauth_encryption_config":     encrypted,
	}
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
	c, known, cannot := Config{SummaryFile: host.RecertSummary}, settings(), refused()
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		raw := keys[key]
		switch read, ok := known[key]; {
		case ok && string(raw) == "null":
		case ok:
			if err := read(&c, raw); err != nil {
				problems = append(problems, fmt.Errorf("key %q: %w", key, plain(err)))
			}
		case cannot[key] != "":
			if !isZero(raw) {
				problems = append(problems, fmt.Errorf("key %q: %s", key, cannot[key]))
			}
		default:
			problems = append(problems, fmt.Errorf("key %q is unknown", key))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return Config{}, fmt.Errorf("recert configuration: %w", err)
	}
	if c.AddressesOnly {
		c.leaveAuthorities()
	}
	return c, c.check()
}

// leaveAuthorities drops the rules that would give authorities other keys: an address change needs none of it.
func (c *Config) leaveAuthorities() {
	if len(c.UseKeys) > 0 {
		c.UseKeys, c.Remarks = nil, append(c.Remarks, "use_key_rules: authorities keep their keys")
	}
	if len(c.UseCerts) > 0 {
		c.UseCerts, c.Remarks = nil, append(c.Remarks, "use_cert_rules: authorities keep their certificates")
	}
}

// reissuesTrees says that more than the leaves of changed addresses may be signed again.
func (c Config) reissuesTrees() bool {
	return !c.PostprocessOnly && (c.Expiry != KeepExpiry || len(c.Names)+len(c.UseKeys)+len(c.UseCerts) > 0)
}

// needsRecord says that what was done cannot be told from the data alone.
func (c Config) needsRecord() bool {
	return c.reissuesTrees() || c.ServerSSHKeys != "" || c.Hostname != "" || c.Cluster != nil || c.Defragment
}

// check refuses what contradicts itself.
func (c Config) check() error {
	for old, fresh := range c.Names {
		if _, chained := c.Names[fresh]; chained && old != fresh {
			return fmt.Errorf("recert configuration: cn_san_replace_rules: %s takes the place of %s and is itself replaced", fresh, old)
		}
	}
	if c.PostprocessOnly && (c.Expiry != KeepExpiry || len(c.UseKeys)+len(c.UseCerts) > 0) {
		return errors.New("recert configuration: postprocess_only leaves all certificates alone, and other keys would change them")
	}
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
