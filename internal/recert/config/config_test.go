package config

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

func TestParseConfigReadsWhatTheFlowWrites(t *testing.T) {
	cfg, err := Parse([]byte(`{
		"etcd_endpoint": "localhost:2379", "ip_change_only": true, "ip": ["192.0.2.7", "2001:db8::7"],
		"machine_network_cidr": "192.0.2.0/24", "install_config": "x: y", "extend_expiration": false, "proxy": null,
		"crypto_dirs": ["/kubelet", "/kubernetes", "/machine-config-daemon"], "crypto_files": ["/host-etc/mcs-machine-config-content.json"],
		"cluster_customization_dirs": ["/kubelet"], "cluster_customization_files": ["/host-etc/chrony.conf"],
		"cn_san_replace_rules": ["192.0.2.1,192.0.2.7", "2001:db8::1,2001:db8::7", "192.0.2.3:192.0.2.4"],
		"use_key_rules": ["kube-apiserver-lb-signer /var/lib/lca/workspace/kubeconfig-crypto/loadbalancer-serving-signer.key"],
		"summary_file_clean": "/var/tmp/recert-summary.yaml", "kubeadmin_password_hash": ""}`))
	if err != nil {
		t.Fatal(err)
	}
	a := netip.MustParseAddr
	want := Config{
		IPs: []netip.Addr{a("192.0.2.7"), a("2001:db8::7")}, MachineNetworks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		Replace:       []replace.Address{{Old: a("192.0.2.1"), New: a("192.0.2.7")}, {Old: a("2001:db8::1"), New: a("2001:db8::7")}, {Old: a("192.0.2.3"), New: a("192.0.2.4")}},
		InstallConfig: "x: y", Dirs: []string{"/var/lib/kubelet", "/etc/kubernetes", "/etc/machine-config-daemon"},
		Files: []string{"/etc/chrony.conf", "/etc/mcs-machine-config-content.json"}, SummaryFile: "/var/tmp/recert-summary.yaml",
		Remarks: cfg.Remarks, AddressesOnly: true,
	}
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("got %+v\nwant %+v", cfg, want)
	}
	if remarks := strings.Join(cfg.Remarks, "\n"); !strings.Contains(remarks, "kubeadmin Secret is not changed") || !strings.Contains(remarks, "use_key_rules") {
		t.Errorf("remarks: %s", remarks)
	}
}

func TestParseConfigRefusesByName(t *testing.T) {
	for text, want := range map[string]string{
		`{"ipp": 1}`:                                                    `key "ipp" is unknown`,
		`{"cluster_rename": "a"}`:                                       `key "cluster_rename": "a" is not "name:domain"`,
		`{"cluster_rename": "a.b:example.com"}`:                         `the name "a.b" cannot be a cluster's`,
		`{"cluster_rename": "a:b_c"}`:                                   `the domain "b_c" cannot be a cluster's`,
		`{"cluster_rename": "a:b:"}`:                                    `the identifier "" cannot be`,
		`{"hostname": "Not_A_Name"}`:                                    `key "hostname": "Not_A_Name" cannot be`,
		`{"hostname": "localhost"}`:                                     `key "hostname": "localhost" is every machine's`,
		`{"etcd_defrag": "SECRET"}`:                                     `key "etcd_defrag": must be a bool`,
		`{"kube_encryption_config": {"a": 1}}`:                          `key "kube_encryption_config": values encrypted at rest`,
		`{"oauth_encryption_config": {"a": 1}, "zz": 1}`:                `key "zz" is unknown`,
		`{"force_expire": true, "extend_expiration": true}`:             `exclude each other`,
		`{"postprocess_only": true, "extend_expiration": true}`:         `postprocess_only keeps`,
		`{"proxy": "a|b"}`:                                              `key "proxy": has 2 parts`,
		`{"proxy_trusted_ca_bundle": "SECRET"}`:                         `key "proxy_trusted_ca_bundle": is not`,
		`{"use_key_rules": ["SECRET"]}`:                                 `key "use_key_rules": element 1: is not`,
		`{"use_cert_rules": ["SECRET"]}`:                                `key "use_cert_rules": element 1: is neither`,
		`{"regenerate_server_ssh_keys": "ssh"}`:                         `not absolute`,
		`{"ip": "192.0.2"}`:                                             `key "ip"`,
		`{"ip": {"a": 1}}`:                                              `key "ip"`,
		`{"dry_run": "SECRET"}`:                                         `key "dry_run": must be a bool`,
		`{"ip": ["192.0.2.1", "192.0.2.2"]}`:                            "two addresses of one family",
		`{"machine_network_cidr": "192.0.2.1/24"}`:                      "host bits",
		`{"machine_network_cidr": ["192.0.2.0/24", "198.51.100.0/24"]}`: "two networks",
		`{"cn_san_replace_rules": ["a.example.com"]}`:                   "is not \"old,new\"",
		`{"cn_san_replace_rules": ["a.example.com,192.0.2.1"]}`:         "replaces an address by a name",
		`{"cn_san_replace_rules": ["a,b", "b,c"]}`:                      "is itself replaced",
		`{"cn_san_replace_rules": ["a,b", "a,c"]}`:                      "cannot become both",
		`{"crypto_dirs": ["kubelet"]}`:                                  "not absolute",
		`[]`:                                                            "not an object",
		`{"ip": "1.1.1.1", "ip": "1.1.1.2"}`:                            "not a YAML or JSON document",
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: the error quotes the value: %v", text, err)
		}
	}
}

// Every key is either read, or refused, never both and never forgotten.
func TestEveryKeyOfTheFieldsToolIsKnown(t *testing.T) {
	keys := strings.Fields(`dry_run postprocess_only etcd_endpoint etcd_defrag extend_expiration force_expire ip_change_only cluster_rename
		hostname ip machine_network_cidr proxy install_config kubeadmin_password_hash pull_secret user_ca_bundle proxy_trusted_ca_bundle
		chrony_config crypto_dirs crypto_files cluster_customization_dirs cluster_customization_files static_dirs static_files
		cn_san_replace_rules use_key_rules use_cert_rules regenerate_server_ssh_keys summary_file summary_file_clean threads
		kube_encryption_config openshift_encryption_config oauth_encryption_config`)
	for _, key := range keys {
		doc, _ := json.Marshal(map[string]any{key: nil})
		if _, err := Parse(doc); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	const own = 1 // new_keys
	if n := len(supportedSettings()) + len(refusedSettings()) - own; n != len(keys) {
		t.Errorf("%d keys are handled, the tool has %d", n, len(keys))
	}
}

func TestTheSummaryIsAPathOfTheHost(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                        host.RecertSummary,
		`{"summary_file_clean":""}`: host.RecertSummary,
		`{"summary_file":"/kubernetes/recert-seed-creation-summary.yaml"}`: "/etc/kubernetes/recert-seed-creation-summary.yaml",
		`{"summary_file":"/var/tmp//x.yaml"}`:                              "/var/tmp/x.yaml",
	} {
		if cfg, err := Parse([]byte(text)); err != nil || cfg.SummaryFile != want {
			t.Errorf("%s: %v, %q", text, err, cfg.SummaryFile)
		}
	}
	if _, err := Parse([]byte(`{"summary_file":"x.yaml"}`)); err == nil || !strings.Contains(err.Error(), `path "x.yaml" is not absolute`) {
		t.Errorf("relative: %v", err)
	}
}

func TestMalformedYAMLIsNotQuoted(t *testing.T) {
	for _, text := range []string{"pullSecret: *hunter2\n", "a: 1\nhunter2\n  - x: [\n", "hunter2: {\n"} {
		_, err := wire.EditYAML(text, func([]string, string) (string, bool) { return "", false })
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
