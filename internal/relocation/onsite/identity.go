package onsite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// recertConfig is recert_config.json as a reconfiguration needs it; see docs/recert-config.md. What the node may have been
// shipped without, as a proxy may be, is left to the steps after the API answers: recert refuses a value without a place.
type recertConfig struct {
	IP                        []string `json:"ip,omitempty"`
	MachineNetworkCIDR        []string `json:"machine_network_cidr,omitempty"`
	CNSanReplaceRules         []string `json:"cn_san_replace_rules,omitempty"`
	Hostname                  string   `json:"hostname,omitempty"`
	ClusterRename             string   `json:"cluster_rename,omitempty"`
	PullSecret                string   `json:"pull_secret,omitempty"`
	InstallConfig             string   `json:"install_config,omitempty"`
	KubeadminPasswordHash     string   `json:"kubeadmin_password_hash,omitempty"`
	Proxy                     string   `json:"proxy,omitempty"`
	UseKeyRules               []string `json:"use_key_rules,omitempty"`
	UseCertRules              []string `json:"use_cert_rules,omitempty"`
	ExtendExpiration          bool     `json:"extend_expiration"`
	NewKeys                   bool     `json:"new_keys,omitempty"`
	CryptoDirs                []string `json:"crypto_dirs"`
	CryptoFiles               []string `json:"crypto_files"`
	ClusterCustomizationDirs  []string `json:"cluster_customization_dirs"`
	ClusterCustomizationFiles []string `json:"cluster_customization_files"`
	SummaryFile               string   `json:"summary_file_clean"`
}

// recertConfig also extends the life of every certificate: however long the node lay on the shelf, the cluster starts
// with certificates that are valid.
func (p *Reconfiguration) recertConfig(c siteconfig.SiteConfig, passwordHash string) recertConfig {
	r := newRenewalConfig()
	r.KubeadminPasswordHash, r.PullSecret = passwordHash, c.PullSecret.Reveal()
	// All nodes that are restored from one seed image start with the keys that are in it.
	r.NewKeys = p.Record.Running != nil
	kept := retentionOf(c)
	r.UseKeyRules, r.UseCertRules = kept.keys, kept.certs
	facts := p.Record.Facts
	for i, a := range p.nodeAddresses(c) {
		r.IP = append(r.IP, a.String())
		if i < len(facts.Addresses) && facts.Addresses[i] != a {
			r.CNSanReplaceRules = append(r.CNSanReplaceRules, facts.Addresses[i].String()+","+a.String())
		}
	}
	for _, n := range p.nodeNetworks(c) {
		r.MachineNetworkCIDR = append(r.MachineNetworkCIDR, n.String())
	}
	if c.Hostname != "" && c.Hostname != facts.Node {
		r.Hostname = c.Hostname
	}
	r.Proxy = p.recertProxy(c)
	name, base := p.clusterNameAndBase(c)
	infra := ""
	if c.Identity != nil {
		infra, r.InstallConfig = c.Identity.InfraID, c.Identity.InstallConfig.Reveal()
	}
	if name != facts.ClusterName || base != facts.BaseDomain || infra != "" {
		r.ClusterRename = name + ":" + base
		if infra != "" {
			r.ClusterRename += ":" + infra
		}
	}
	return r
}

// newRenewalConfig is the part that is the same on every site.
func newRenewalConfig() recertConfig {
	dirs := []string{"/kubelet", "/kubernetes", "/machine-config-daemon"}
	return recertConfig{
		ExtendExpiration: true, CryptoDirs: dirs, ClusterCustomizationDirs: dirs,
		CryptoFiles: []string{"/host-etc/mcs-machine-config-content.json"},
		ClusterCustomizationFiles: []string{"/host-etc/mcs-machine-config-content.json", "/host-etc/mco/proxy.env",
			"/host-etc/chrony.conf"},
		SummaryFile: host.RecertSummary,
	}
}

// RenewalConfig is the configuration by which recert says, in the factory, what it would renew on site.
func RenewalConfig() ([]byte, error) {
	data, err := json.Marshal(newRenewalConfig())
	if err != nil {
		return nil, fmt.Errorf("encode the configuration of recert: %w", err)
	}
	return data, nil
}

// clusterNameAndBase is the cluster's own name and base domain after the change.
func (p *Reconfiguration) clusterNameAndBase(c siteconfig.SiteConfig) (name, base string) {
	return cmp.Or(c.ClusterName, p.Record.Facts.ClusterName), cmp.Or(c.BaseDomain, p.Record.Facts.BaseDomain)
}

// newPassword makes the password that is handed over, where that is asked for, and returns its hash. An earlier run's is
// kept: the hash may be in the cluster already.
func (p *Reconfiguration) newPassword(c siteconfig.SiteConfig) (hash string, err error) {
	if c.Identity != nil && c.Identity.KubeadminPasswordHash != "" {
		return c.Identity.KubeadminPasswordHash.Reveal(), nil
	}
	if _, wanted := c.Handover.Includes(); !wanted {
		return "", nil
	}
	password, hash, err := p.Password()
	if err != nil {
		return "", fmt.Errorf("make a password for kubeadmin: %w", err)
	}
	if err := p.Files.Write(relocation.PasswordFile, []byte(password), 0o600); err != nil {
		return "", fmt.Errorf("write the password of kubeadmin: %w", err)
	}
	return hash, nil
}

// armWatchdog keeps the room that a rollback needs and starts the watchdog.
func (p *Reconfiguration) armWatchdog(ctx context.Context) error {
	if err := p.Files.Remove(relocation.WatchedFile); err != nil {
		return fmt.Errorf("reset the watchdog: %w", err)
	}
	if err := stateroot.KeepBallast(p.Files, p.Request.Site); err != nil {
		return err
	}
	deadline := p.Clock.Now().Add(p.Record.Limit()).UTC().Truncate(time.Second)
	if err := p.Note(relocation.FlowReconfigure, "watchdog armed", deadline); err != nil {
		return err
	}
	if err := p.Units.Enable(ctx, relocation.UnitMonitor); err != nil {
		return fmt.Errorf("enable %s: %w", relocation.UnitMonitor, err)
	}
	if err := p.Units.Start(ctx, relocation.UnitMonitor); err != nil {
		return fmt.Errorf("start %s: %w", relocation.UnitMonitor, err)
	}
	return nil
}

func (p *Reconfiguration) setHostname(ctx context.Context) error {
	c, err := p.readConfig()
	if err != nil || c.Hostname == "" {
		return err
	}
	if err := p.Hostname.SetHostname(ctx, c.Hostname); err != nil {
		return fmt.Errorf("set the node's name to %s: %w", c.Hostname, err)
	}
	return nil
}

// updateNodeIPHint has nodeip-configuration choose the node's address in the site's network. A file that a MachineConfig owns stays.
func (p *Reconfiguration) updateNodeIPHint(c siteconfig.SiteConfig) error {
	data, err := p.Files.Read(host.NodeIPHint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the node IP hint: %w", err)
	}
	config, err := bringup.ReadMachineConfig(p.Files)
	if err != nil {
		return err
	}
	if config.Owned[host.NodeIPHint] {
		p.Log.Warn("a MachineConfig owns the node IP hint; it stays", "op", p.Request.OperationID, "file", host.NodeIPHint)
		return nil
	}
	moved := replaceHint(string(data), p.nodeNetworks(c))
	if err := p.Files.Write(host.NodeIPHint, []byte(moved), 0o644); err != nil {
		return fmt.Errorf("write the node IP hint: %w", err)
	}
	return nil
}
