package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

// Config is the content of recert_config.json. The file's keys are those of the field's tool; paths in it are those inside that tool's
// container and are translated (hostPath).
type Config struct {
	// DryRun plans and reports without writing.
	DryRun bool
	// IPs are the node's new addresses, at most one of each family ("ip").
	IPs []netip.Addr
	// MachineNetworks replace those of the install-config, by family ("machine_network_cidr").
	MachineNetworks []netip.Prefix
	// Replace lists old and new addresses explicitly ("cn_san_replace_rules").
	Replace []replace.Address
	// InstallConfig is written into cluster-config-v1 before the machine networks are ("install_config").
	InstallConfig string
	// Names lists names of certificates (common names, DNS names) and what takes their place ("cn_san_replace_rules").
	Names map[string]string
	// Expiry changes the validity of certificates ("extend_expiration", "force_expire").
	Expiry Expiry
	// NewKeys replaces every private key of the cluster and what follows from it: certificates, tokens, credentials of registries
	// ("new_keys", which the field's tool does not know).
	NewKeys bool
	// AddressesOnly keeps authorities and their keys in spite of other rules ("ip_change_only").
	AddressesOnly bool
	// PostprocessOnly keeps all certificates ("postprocess_only").
	PostprocessOnly bool
	// UseKeys and UseCerts are keys and certificates that authorities get.
	UseKeys  []KeyRule
	UseCerts []string
	// PullSecret, UserCABundle, TrustedCA, Proxy and Chrony replace what the cluster has of them.
	PullSecret   string
	UserCABundle string
	TrustedCA    *TrustedCA
	Proxy        *Proxy
	Chrony       string
	// Cluster is the cluster's new name ("cluster_rename").
	Cluster *ClusterName
	// Hostname is the node's new name; the old one is found in the cluster.
	Hostname string
	// Defragment drops the store's history at the end and gives the space back ("etcd_defrag").
	Defragment bool
	// ServerSSHKeys is the folder on the host whose SSH host keys are generated anew.
	ServerSSHKeys string
	// KubeadminPasswordHash replaces the kubeadmin Secret's hash when it is not empty.
	KubeadminPasswordHash string
	// Dirs and Files are searched on disk, as paths of the host.
	Dirs, Files []string
	// SummaryFile receives the redacted report; host.RecertSummary by default.
	SummaryFile string
	// Remarks list the keys that have no effect, and why.
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

// supportedSettings are the supported keys.
func supportedSettings() map[string]setting {
	return map[string]setting{
		"dry_run":                 fieldSetting(func(c *Config) any { return &c.DryRun }),
		"ip_change_only":          fieldSetting(func(c *Config) any { return &c.AddressesOnly }),
		"new_keys":                fieldSetting(func(c *Config) any { return &c.NewKeys }),
		"postprocess_only":        fieldSetting(func(c *Config) any { return &c.PostprocessOnly }),
		"extend_expiration":       readExpiry(ExtendExpiry),
		"force_expire":            readExpiry(ForceExpiry),
		"ip":                      listSetting(readIP),
		"machine_network_cidr":    listSetting(readNetwork),
		"cn_san_replace_rules":    listSetting(readReplaceRule),
		"etcd_defrag":             fieldSetting(func(c *Config) any { return &c.Defragment }),
		"cluster_rename":          textSetting(readCluster),
		"hostname":                textSetting(readHostname),
		"install_config":          fieldSetting(func(c *Config) any { return &c.InstallConfig }),
		"kubeadmin_password_hash": readKubeadmin,
		"crypto_dirs":             pathsSetting(func(c *Config) *[]string { return &c.Dirs }),
		"crypto_files":            pathsSetting(func(c *Config) *[]string { return &c.Files }),

		"cluster_customization_dirs":  pathsSetting(func(c *Config) *[]string { return &c.Dirs }),
		"cluster_customization_files": pathsSetting(func(c *Config) *[]string { return &c.Files }),
		"static_dirs":                 pathsSetting(func(c *Config) *[]string { return &c.Dirs }),
		"static_files":                pathsSetting(func(c *Config) *[]string { return &c.Files }),

		"summary_file":       textSetting(func(c *Config, text string) error { return readPath(&c.SummaryFile, text) }),
		"summary_file_clean": textSetting(func(c *Config, text string) error { return readPath(&c.SummaryFile, text) }),
		"etcd_endpoint":      remarkSetting("etcd_endpoint: ignored, etcd is opened on a private socket"),
		"threads":            remarkSetting("threads: ignored, one thread is used"),
		"use_key_rules":      listSetting(readKeyRule),
		"use_cert_rules":     listSetting(readCertRule),

		"pull_secret":                fieldSetting(func(c *Config) any { return &c.PullSecret }),
		"user_ca_bundle":             fieldSetting(func(c *Config) any { return &c.UserCABundle }),
		"proxy_trusted_ca_bundle":    textSetting(readTrustedCA),
		"proxy":                      textSetting(readProxy),
		"chrony_config":              fieldSetting(func(c *Config) any { return &c.Chrony }),
		"regenerate_server_ssh_keys": textSetting(func(c *Config, text string) error { return readPath(&c.ServerSSHKeys, text) }),
	}
}

// refusedSettings are the keys of the field's tool that are not supported, with what to do instead. An empty one is accepted.
func refusedSettings() map[string]string {
	const encrypted = "values encrypted at rest are not read: turn encryption off first (APIServer cluster, spec.encryption.type: identity)"
	return map[string]string{
		"kube_encryption_config":      encrypted,
		"openshift_encryption_config": encrypted,
		"oauth_encryption_config":     encrypted,
	}
}

// Parse reads recert_config.json (YAML is accepted too). One error names all keys that are unknown or not
// supported.
func Parse(text []byte) (Config, error) {
	doc, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return Config{}, errors.New("parse the recert configuration: not a YAML or JSON document") // the cause may quote secrets
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(doc, &keys); err != nil {
		return Config{}, errors.New("parse the recert configuration: not an object")
	}
	c, known, cannot := Config{SummaryFile: host.RecertSummary}, supportedSettings(), refusedSettings()
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		raw := keys[key]
		switch read, ok := known[key]; {
		case ok && string(raw) == "null":
		case ok:
			if err := read(&c, raw); err != nil {
				problems = append(problems, fmt.Errorf("key %q: %w", key, redactDecodeError(err)))
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
	return c, c.checkConsistency()
}

// leaveAuthorities drops the rules that give authorities other keys.
func (c *Config) leaveAuthorities() {
	if len(c.UseKeys) > 0 {
		c.UseKeys, c.Remarks = nil, append(c.Remarks, "use_key_rules: authorities keep their keys")
	}
	if len(c.UseCerts) > 0 {
		c.UseCerts, c.Remarks = nil, append(c.Remarks, "use_cert_rules: authorities keep their certificates")
	}
}

// ReissuesTrees reports whether more than leaves with an old address may be signed again.
func (c Config) ReissuesTrees() bool {
	return !c.PostprocessOnly && (c.NewKeys || c.Expiry != KeepExpiry || len(c.Names)+len(c.UseKeys)+len(c.UseCerts) > 0)
}

// NeedsRecord reports whether the data alone does not tell what was done.
func (c Config) NeedsRecord() bool {
	return c.ReissuesTrees() || c.ServerSSHKeys != "" || c.Hostname != "" || c.Cluster != nil || c.Defragment
}

// checkConsistency refuses what contradicts itself.
func (c Config) checkConsistency() error {
	for old, fresh := range c.Names {
		if _, chained := c.Names[fresh]; chained && old != fresh {
			return fmt.Errorf("recert configuration: cn_san_replace_rules: %s replaces %s and is itself replaced", fresh, old)
		}
	}
	if c.NewKeys && c.AddressesOnly {
		return errors.New("recert configuration: new_keys replaces the keys of authorities, and ip_change_only keeps them")
	}
	if c.PostprocessOnly && (c.NewKeys || c.Expiry != KeepExpiry || len(c.UseKeys)+len(c.UseCerts) > 0) {
		return errors.New("recert configuration: postprocess_only keeps all certificates, but another setting changes them")
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

// redactDecodeError drops the value that a decoding error may quote.
func redactDecodeError(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("must be a %s, is a %s", kind.Type, kind.Value)
	}
	return err
}

func isZero(raw json.RawMessage) bool {
	return slices.Contains([]string{"null", "false", `""`, "[]", "{}", "0"}, string(raw))
}
