package recert

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

func verified(t *testing.T, w *world) *inspect.Verification {
	t.Helper()
	v, err := engine(w).Verify(t.Context(), configPath)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// An extended certificate looks like any other. The run wrote down what it replaced.
func TestVerifyTellsExtendedCertificates(t *testing.T) {
	w := newWorld(t)
	withConfig(t, w, noMove(map[string]any{"extend_expiration": true}))
	if v := verified(t, w); len(v.Problems) != 1 || !strings.Contains(v.Problems[0].Why, "records no run with this configuration") {
		t.Errorf("before the run: %v", v.Problems)
	}
	const peer = rules.StoragePrefix + "secrets/openshift-etcd/etcd-peer-sno"
	before := w.keys[peer]
	runRecert(t, w)
	if v := verified(t, w); !v.OK() {
		t.Errorf("after the run: %v", v.Problems)
	}
	w.keys[peer] = before
	found := fmt.Sprint(verified(t, w).Problems)
	if !strings.Contains(found, peer+" data/tls.crt has the certificate of \"CN=system:etcd-peer:sno,O=system:etcd-peers\" that the run replaced") {
		t.Errorf("with an old certificate back: %s", found)
	}
}

// Of two addresses that were swapped each is an old one and a new one.
func TestVerifyTellsASwapFromItsBeginning(t *testing.T) {
	start := newWorld(t)
	(&builder{t: t, w: start}).configMap("openshift-etcd", "etcd-endpoints-9", map[string]string{"MTky": lookalike})
	withConfig(t, start, map[string]any{"ip": []string{lookalike}, "machine_network_cidr": []string{"192.0.2.0/24"},
		"cn_san_replace_rules": []string{oldV4 + "," + lookalike, lookalike + "," + oldV4}})
	whole := start.clone()
	if v := verified(t, whole); len(v.Problems) != 1 || !strings.Contains(v.Problems[0].Why, "records no run") {
		t.Errorf("before the run: %v", v.Problems)
	}
	runRecert(t, whole)
	if v := verified(t, whole); !v.OK() || strings.Contains(fmt.Sprint(v.Unknown), "as a run left it") {
		t.Errorf("after the run: problems %v, unknown %v", v.Problems, v.Unknown)
	}
	half := cutAfter(t, start, whole.writes/2)
	if v := verified(t, half); !strings.Contains(fmt.Sprint(v.Problems), "a run was interrupted: apply completes it") {
		t.Errorf("in the middle of the run: %v", v.Problems)
	}
	const endpoints = rules.StoragePrefix + "configmaps/openshift-etcd/etcd-endpoints-9"
	b := &builder{t: t, w: whole}
	b.configMap("openshift-etcd", "etcd-endpoints-9", map[string]string{"MTky": lookalike, "more": ""})
	v := verified(t, whole)
	if !v.OK() || !strings.Contains(fmt.Sprint(v.Unknown), endpoints+" data/MTky changed since the run") {
		t.Errorf("written since: problems %v, unknown %v", v.Problems, v.Unknown)
	}
	whole.member = host.StoreMember{ID: whole.member.ID, Name: whole.member.Name, PeerURLs: []string{"https://" + oldV4 + ":2380"}}
	if unknown := fmt.Sprint(verified(t, whole).Unknown); !strings.Contains(unknown, "etcd member "+whole.member.Name) {
		t.Errorf("a member moved since: %s", unknown)
	}
}

// After a swap, an old certificate and an old setting are seen as what they are.
func TestVerifySeesWhatIsBackAfterASwap(t *testing.T) {
	w := newWorld(t)
	withConfig(t, w, map[string]any{"ip": []string{lookalike}, "machine_network_cidr": []string{"192.0.2.0/24"}, "kubeadmin_password_hash": "$2a$new",
		"cn_san_replace_rules": []string{oldV4 + "," + lookalike, lookalike + "," + oldV4}})
	alone := clustertest.Leaf(t, etcdSigner(t, w), "p256", "system:etcd-peer:sno", oldV4)
	b := &builder{t: t, w: w}
	b.secret("openshift-etcd", "etcd-peer-sno", map[string]string{"tls.crt": alone.CertPEM, "tls.key": alone.KeyPEM})
	const peer, kubeadmin = rules.StoragePrefix + "secrets/openshift-etcd/etcd-peer-sno", rules.StoragePrefix + "secrets/kube-system/kubeadmin"
	before := map[string]host.KeyValue{peer: w.keys[peer], kubeadmin: w.keys[kubeadmin]}
	runRecert(t, w)
	if v := verified(t, w); !v.OK() {
		t.Fatalf("after the run: %v", v.Problems)
	}
	for key, want := range map[string]string{
		peer:      peer + " data/tls.crt the certificate does not name the new address " + lookalike,
		kubeadmin: kubeadmin + " not yet changed: password hash of kubeadmin",
	} {
		now := w.keys[key]
		w.keys[key] = before[key]
		if found := fmt.Sprint(verified(t, w).Problems); !strings.Contains(found, want) {
			t.Errorf("%s back: %s", key, found)
		}
		w.keys[key] = now
	}
}

func TestVerifyTellsServerKeys(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	b.file("/etc/ssh/ssh_host_ed25519_key", "old")
	b.file("/etc/ssh/ssh_host_ed25519_key.pub", "old")
	withConfig(t, w, noMove(map[string]any{"regenerate_server_ssh_keys": "/ssh"}))
	if v := verified(t, w); v.OK() {
		t.Error("before the run all was well")
	}
	runRecert(t, w)
	if v := verified(t, w); !v.OK() || len(v.Unknown) > 1 {
		t.Errorf("after the run: problems %v, unknown %v", v.Problems, v.Unknown)
	}
	b.file("/etc/ssh/ssh_host_ed25519_key.pub", "another")
	if v := verified(t, w); !strings.Contains(fmt.Sprint(v.Unknown), "{/etc/ssh/ssh_host_ed25519_key.pub is not the SSH host key that the run generated}") {
		t.Errorf("changed since: problems %v, unknown %v", v.Problems, v.Unknown)
	}
}

// Whatever is configured, verify finds what apply was to do before it, and nothing after it.
func TestVerifyAgreesWithApplyOnEveryKey(t *testing.T) {
	for name, extra := range map[string]map[string]any{
		"ip":             {"ip_change_only": true, "ip": []string{newV4, newV6}, "cn_san_replace_rules": []string{oldV4 + "," + newV4, oldV6 + "," + newV6}},
		"networks":       {"machine_network_cidr": []string{"198.51.100.0/24"}},
		"hostname":       {"hostname": "b"},
		"names":          {"cn_san_replace_rules": []string{"metric-signer,m"}},
		"extend":         {"extend_expiration": true},
		"use_key":        {"use_key_rules": []string{etcdKeyRule}},
		"installer's":    {"install_config": "networking:\n  machineNetwork:\n  - cidr: 203.0.113.0/24\n"},
		"kubeadmin":      {"kubeadmin_password_hash": "$2a$new"},
		"pull secret":    {"pull_secret": `{"auths":{}}`},
		"bundle":         {"user_ca_bundle": "users"},
		"proxy's bundle": {"proxy_trusted_ca_bundle": "proxy-ca:proxies"},
		"proxy":          {"proxy": "http://h|http://hs|no|http://sh|http://shs|sno"},
		"chrony":         {"chrony_config": "server x"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			siteOf(&builder{t: t, w: w})
			givenKey(t, w, "rsa")
			withConfig(t, w, noMove(extra))
			if v := verified(t, w); v.OK() {
				t.Error("before the run all was well")
			}
			runRecert(t, w)
			if v := verified(t, w); !v.OK() {
				t.Errorf("after the run: %v", v.Problems)
			}
		})
	}
}
