package recert

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// cutAfter is what a run leaves whose power is cut after so many writes.
func cutAfter(t *testing.T, start *world, writes int) *world {
	t.Helper()
	w := start.clone()
	w.budget = writes
	err := engine(w).Run(t.Context(), configPath)
	if reported := err == nil; w.budget != 0 || !reported && !errors.Is(err, errPowerCut) { // without its report alone, a run ends well
		t.Fatalf("cut after %d writes: %v", writes, err)
	}
	w.budget = -1
	return w
}

// requireAtRest says that one more run, at that time, has nothing to write, and that none is on record that was not completed.
func requireAtRest(t *testing.T, w *world, at time.Time) {
	t.Helper()
	w.writes, w.ordered = 0, nil
	runAt(t, w, at)
	if w.writes != 0 {
		t.Fatalf("one more run wrote %v", w.ordered)
	}
	_, record, err := config.Load(w, configPath)
	if err != nil || len(record.After) > 0 && !record.Done {
		t.Fatalf("%v, a run is on record that has not ended", err)
	}
}

// siteOf makes what the settings of a site are written into.
func siteOf(b *builder) {
	b.secret("openshift-config", "pull-secret", map[string]string{".dockerconfigjson": "seed"})
	b.configMap("openshift-config", "user-ca-bundle", map[string]string{"ca-bundle.crt": "seed"})
	b.configMap("openshift-config", "proxy-ca", map[string]string{"ca-bundle.crt": "seed"})
	proxied := map[string]any{"httpProxy": "seed", "httpsProxy": "seed", "noProxy": "seed"}
	b.json("config.openshift.io/proxies/cluster", map[string]any{"kind": "Proxy", "status": proxied,
		"spec": map[string]any{"httpProxy": "seed", "httpsProxy": "seed", "noProxy": "seed", "trustedCA": map[string]any{"name": "seed"}}})
	b.file(rules.ChronyFile, "seed")
}

// What a setting is written into may be done already when a run goes on with another: it is there all the same.
func TestSiteSettingsSurviveACrash(t *testing.T) {
	start := newWorld(t)
	siteOf(&builder{t: t, w: start})
	withConfig(t, start, noMove(map[string]any{"hostname": "b", "pull_secret": `{"auths":{}}`, "user_ca_bundle": "users",
		"proxy": "http://h|http://hs|no|http://sh|http://shs|sno", "proxy_trusted_ca_bundle": "proxy-ca:proxies"}))
	whole := start.clone()
	runAt(t, whole, testTime)
	want := worldTexts(t, whole)
	flowtest.Points(t, whole.writes, func(t *testing.T, cut int) {
		w := cutAfter(t, start, cut)
		runAt(t, w, testTime)
		compareWorlds(t, fmt.Sprintf("cut after %d writes", cut), worldTexts(t, w), want)
		requireAtRest(t, w, testTime)
	})
}

// Half of a swap cannot be told from the other half without its record, and the record is of its configuration.
func TestAnotherConfigurationDoesNotGoOnWithAnInterruptedRun(t *testing.T) {
	start := newWorld(t)
	swap := map[string]any{"ip": nil, "machine_network_cidr": nil, "cn_san_replace_rules": []string{oldV4 + "," + lookalike, lookalike + "," + oldV4}}
	withConfig(t, start, swap)
	whole := start.clone()
	runRecert(t, whole)
	w := cutAfter(t, start, whole.writes/2)
	before := worldTexts(t, w)
	swap["threads"] = 4
	withConfig(t, w, swap)
	want := "a run with another configuration was interrupted: complete it with that configuration"
	if err := engine(w).Run(t.Context(), configPath); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("said %v", err)
	}
	compareWorlds(t, "refused", worldTexts(t, w), before)
	delete(swap, "threads")
	withConfig(t, w, swap)
	runRecert(t, w)
	compareWorlds(t, "completed", worldTexts(t, w), worldTexts(t, whole))
}

// Preview says what Apply would do, which is nothing where a run is done that cannot be told from the data.
func TestPreviewKnowsWhatIsDone(t *testing.T) {
	for name, extra := range map[string]map[string]any{
		"swap":     {"ip": nil, "machine_network_cidr": nil, "cn_san_replace_rules": []string{oldV4 + "," + lookalike, lookalike + "," + oldV4}},
		"validity": noMove(map[string]any{"extend_expiration": true}),
	} {
		w := newWorld(t)
		withConfig(t, w, extra)
		for _, done := range []bool{false, true} {
			plan, err := engine(w).Preview(t.Context(), configPath)
			if err != nil || plan.Empty() != done {
				t.Errorf("%s, done %t: %v, empty %t", name, done, err, plan.Empty())
			}
			runAt(t, w, testTime)
		}
	}
}

// etcdSigner is the authority of etcd's certificates.
func etcdSigner(t *testing.T, w *world) *clustertest.Pair {
	t.Helper()
	return &clustertest.Pair{Cert: certificateAt(t, w, signerAt, 0), Key: certs.FirstKey(worldTexts(t, w)[rules.StoragePrefix+"secrets/openshift-etcd/etcd-signer data/tls.key"])}
}

// A cluster may move away and come back. What an earlier run left behind it must not be taken for what it is now.
func TestARecordEndsWhereTheClusterMovesOn(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	b.secret("openshift-etcd", "etcd-peer-b", map[string]string{"tls.crt": clustertest.Leaf(t, etcdSigner(t, w), "p256", "b", oldV4).CertPEM, "tls.key": ""})
	at := func(from, to string) {
		t.Helper()
		withConfig(t, w, map[string]any{"ip": []string{to}, "machine_network_cidr": nil, "cn_san_replace_rules": []string{from + "," + to}})
		runRecert(t, w)
		if got, want := strings.Join(w.member.PeerURLs, ","), "https://"+to+":2380"; got != want {
			t.Fatalf("from %s to %s: the member is at %s", from, to, got)
		}
	}
	at(oldV4, newV4)
	if _, recorded := w.files[config.RecordPath(configPath)]; !recorded {
		t.Fatal("the first move left no record, so this shows nothing")
	}
	at(newV4, oldV4)
	at(oldV4, newV4)
}
