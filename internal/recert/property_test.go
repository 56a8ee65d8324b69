package recert

import (
	"bytes"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// small is a cluster that has one of everything and a crowd around it.
func small() clustertest.Size { return clustertest.Size{Objects: 45, Bundle: 3} }

func keyring(t testing.TB) *clustertest.Keyring {
	t.Helper()
	keys, err := clustertest.NewKeyring()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// settle makes a made-up cluster a world.
func settle(t testing.TB, c *clustertest.Cluster, extra map[string]any) *world {
	t.Helper()
	w := &world{files: map[string]fakeFile{}, keys: map[string]host.KeyValue{}, budget: -1, member: c.Member}
	for p, f := range c.Files {
		w.files[p] = fakeFile{f.Data, f.Mode}
	}
	for _, k := range slices.Sorted(maps.Keys(c.Keys)) {
		w.rev++
		w.keys[k] = host.KeyValue{Key: k, Value: c.Keys[k], ModRevision: w.rev}
	}
	b := &builder{t: t, w: w}
	b.config(extra)
	return w
}

// move is a change of a made-up cluster: what it was, what is asked, what it must become.
type move struct {
	before, after clustertest.Site
	config        map[string]any
}

func moveOf(seed uint64) move {
	m := move{before: clustertest.Before(seed), after: clustertest.After(seed)}
	m.config = map[string]any{"ip": []string{m.after.V4.String(), m.after.V6.String()}, "machine_network_cidr": m.after.Networks,
		"cn_san_replace_rules": []string{m.before.V4.String() + "," + m.after.V4.String(), m.before.V6.String() + "," + m.after.V6.String()}}
	return m
}

func swapOf(seed uint64) move {
	m := move{before: clustertest.Before(seed), after: clustertest.Swapped(seed)}
	a, b := m.before.V4.String(), m.after.V4.String()
	m.config = map[string]any{"ip": nil, "machine_network_cidr": nil, "cn_san_replace_rules": []string{a + "," + b, b + "," + a}}
	return m
}

func renameOf(seed uint64) move {
	m := move{before: clustertest.Before(seed), after: clustertest.Renamed(seed)}
	m.config = map[string]any{"ip": nil, "machine_network_cidr": nil, "hostname": m.after.Node}
	return m
}

// moveAndRenameOf gives the node addresses and a name in one run.
func moveAndRenameOf(seed uint64) move {
	m := moveOf(seed)
	m.after.Node = clustertest.Renamed(seed).Node
	m.config["hostname"] = m.after.Node
	return m
}

// recallOf gives the cluster another name, zone and identifier.
func recallOf(seed uint64) move {
	m := move{before: clustertest.Before(seed), after: clustertest.Recalled(seed)}
	m.config = map[string]any{"ip": nil, "machine_network_cidr": nil,
		"cluster_rename": m.after.Name + ":" + m.after.Domain + ":" + m.after.Infra}
	return m
}

// relocationOf changes everything at once.
func relocationOf(seed uint64) move {
	m, r := moveAndRenameOf(seed), recallOf(seed)
	m.after.Name, m.after.Domain, m.after.Infra = r.after.Name, r.after.Domain, r.after.Infra
	m.config["cluster_rename"] = r.config["cluster_rename"]
	return m
}

// likeness is all of a certificate that re-issuing decides, other than serial number and signature.
func likeness(cert *x509.Certificate) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%x %x %x %s %s %s", cert.RawSubject, cert.RawIssuer, cert.RawSubjectPublicKeyInfo, cert.NotBefore, cert.NotAfter, cert.SignatureAlgorithm)
	for _, e := range cert.Extensions {
		fmt.Fprintf(&out, " %s %t %x", e.Id, e.Critical, e.Value)
	}
	return out.String()
}

// oracle puts the expected certificate in the place of every one that is its like, so that the rest can be compared byte for byte.
type oracle map[string][]byte

func newOracle(t testing.TB, c *clustertest.Cluster) oracle {
	out := oracle{}
	for _, der := range c.Leaves {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		out[likeness(cert)] = der
	}
	return out
}

func (o oracle) text(text string) string {
	return wire.EditBlobs(text, func(b wire.Blob) []byte {
		cert, err := x509.ParseCertificate(b.DER())
		if b.Kind != wire.CertificateBlob || err != nil {
			return nil
		}
		return o[likeness(cert)]
	})
}

func (o oracle) value(t testing.TB, kv host.KeyValue) []byte {
	obj, err := wire.NewObject(kv)
	if err != nil {
		t.Fatal(err)
	}
	if err := obj.Edit(func(_ []string, text string) (string, bool) { fresh := o.text(text); return fresh, fresh != text }); err != nil {
		t.Fatal(err)
	}
	return obj.Value
}

// compare demands that a world is what the oracle's cluster is, byte for byte.
func (o oracle) compare(t testing.TB, when string, w *world, want *clustertest.Cluster) {
	t.Helper()
	for k, value := range want.Keys {
		kv, ok := w.keys[k]
		if !ok {
			t.Errorf("%s: %s is gone", when, k)
		} else if got := o.value(t, kv); !bytes.Equal(got, value) {
			t.Errorf("%s: %s differs:\n%s\n%s", when, k, excerpt(got, value), excerpt(value, got))
		}
	}
	for k := range w.keys {
		if _, ok := want.Keys[k]; !ok {
			t.Errorf("%s: %s is still there", when, k)
		}
	}
	for p := range w.files {
		if _, ok := want.Files[p]; !ok && !strings.HasPrefix(p, "/var/lib/lca/") && p != host.RecertSummary {
			t.Errorf("%s: %s is still there", when, p)
		}
	}
	for p, f := range want.Files {
		if got := []byte(o.text(string(w.files[p].data))); !bytes.Equal(got, f.Data) || w.files[p].mode != f.Mode {
			t.Errorf("%s: %s differs:\n%s\n%s", when, p, excerpt(got, f.Data), excerpt(f.Data, got))
		}
	}
	if !slices.Equal(w.member.PeerURLs, want.Member.PeerURLs) {
		t.Errorf("%s: etcd at %v, want %v", when, w.member.PeerURLs, want.Member.PeerURLs)
	}
}

// excerpt shows where a differs from b.
func excerpt(a, b []byte) string {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	part := a[max(0, at-40):min(len(a), at+120)]
	if bytes.ContainsFunc(part, func(r rune) bool { return r == '\uFFFD' }) {
		return hex.EncodeToString(part)
	}
	return fmt.Sprintf("%q", part)
}

// A moved cluster is the one that would have been made up where it moved to: every chain, every named field,
// and not a byte besides.
func TestMovedClusterIsTheOneMadeUpThere(t *testing.T) {
	keys, seeds := keyring(t), uint64(6)
	if testing.Short() {
		seeds = 2 // a zone elsewhere, and one in the old zone
	}
	for seed := range seeds {
		for name, m := range map[string]move{"move": moveOf(seed), "swap": swapOf(seed), "rename": renameOf(seed),
			"another cluster name": recallOf(seed), "relocation": relocationOf(seed)} {
			t.Run(fmt.Sprintf("%s %d", name, seed), func(t *testing.T) {
				want := clustertest.Generate(keys, seed, m.after, small())
				w := settle(t, clustertest.Generate(keys, seed, m.before, small()), m.config)
				runRecert(t, w)
				newOracle(t, want).compare(t, "moved", w, want)
				sound(t, w)
				requireAtRest(t, w, testTime)
			})
		}
	}
}

// sound demands that every leaf whose authority is there chains to it, and matches its key.
func sound(t testing.TB, w *world) {
	t.Helper()
	v, err := engine(w).Verify(t.Context(), configPath)
	if err != nil {
		t.Fatal(err)
	}
	if !v.OK() || v.Checked < 15 {
		t.Errorf("%d proved, problems %v", v.Checked, v.Problems)
	}
}

// The plan names what changes and nothing else.
func TestPlanIsTheDifference(t *testing.T) {
	keys := keyring(t)
	for seed := range uint64(3) {
		m := moveOf(seed)
		w := settle(t, clustertest.Generate(keys, seed, m.before, small()), m.config)
		plan, err := engine(w).Plan(t.Context(), mustConfig(t, w))
		if err != nil {
			t.Fatal(err)
		}
		planned := map[string]bool{}
		for _, c := range plan.Changes {
			planned[strings.Fields(c.Where)[0]] = true
		}
		before := w.clone()
		runRecert(t, w)
		changed := map[string]bool{"etcd": true} // the member
		for k, kv := range before.keys {
			if now, ok := w.keys[k]; !ok || now.ModRevision != kv.ModRevision {
				changed[k] = true
			}
		}
		for p, f := range w.files {
			if p != host.RecertSummary && p != config.RecordPath(configPath) && !bytes.Equal(before.files[p].data, f.data) {
				changed[p] = true
			}
		}
		if !maps.Equal(planned, changed) {
			for k := range planned {
				if !changed[k] {
					t.Errorf("seed %d: %s is planned and did not change", seed, k)
				}
			}
			for k := range changed {
				if !planned[k] {
					t.Errorf("seed %d: %s changed and is not planned", seed, k)
				}
			}
		}
	}
}

// Whatever the moment of a crash, the next run completes the move, and the one after it finds nothing to do.
func TestMadeUpClusterSurvivesACrashAtEveryStep(t *testing.T) {
	keys := keyring(t)
	for name, m := range map[string]move{"move": moveOf(11), "swap": swapOf(11), "relocation": relocationOf(11)} {
		t.Run(name, func(t *testing.T) {
			want := clustertest.Generate(keys, 11, m.after, clustertest.Size{Bundle: 1})
			start := settle(t, clustertest.Generate(keys, 11, m.before, clustertest.Size{Bundle: 1}), m.config)
			whole := start.clone()
			runRecert(t, whole)
			judge := newOracle(t, want)
			flowtest.Points(t, whole.writes, func(t *testing.T, cut int) {
				w := cutAfter(t, start, cut)
				runRecert(t, w)
				judge.compare(t, fmt.Sprintf("cut after %d writes", cut), w, want)
				requireAtRest(t, w, testTime)
			})
		})
	}
}
