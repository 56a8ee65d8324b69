package recert

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

func verified(t *testing.T, w *world) *Verification {
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
	if v := verified(t, w); len(v.Problems) != 1 || !strings.Contains(v.Problems[0].Why, "tells of no run with this configuration") {
		t.Errorf("before the run: %v", v.Problems)
	}
	const peer = storagePrefix + "secrets/openshift-etcd/etcd-peer-sno"
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
	if v := verified(t, whole); len(v.Problems) != 1 || !strings.Contains(v.Problems[0].Why, "tells of no run") {
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
	const endpoints = storagePrefix + "configmaps/openshift-etcd/etcd-endpoints-9"
	b := &builder{t: t, w: whole}
	b.configMap("openshift-etcd", "etcd-endpoints-9", map[string]string{"MTky": lookalike, "more": ""})
	v := verified(t, whole)
	if !v.OK() || !strings.Contains(fmt.Sprint(v.Unknown), endpoints+" data/MTky is not as a run left it") {
		t.Errorf("written since: problems %v, unknown %v", v.Problems, v.Unknown)
	}
	whole.member = host.StoreMember{ID: whole.member.ID, Name: whole.member.Name, PeerURLs: []string{"https://" + oldV4 + ":2380"}}
	if unknown := fmt.Sprint(verified(t, whole).Unknown); !strings.Contains(unknown, "etcd member "+whole.member.Name) {
		t.Errorf("a member moved since: %s", unknown)
	}
}
