package replace

import (
	"crypto/x509"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// A prefilter may err on one side only: what it turns away has nothing to be found in it.
func TestPrefilterOverlooksNothing(t *testing.T) {
	m := mapping(t, oldV4+">"+newV4, oldV6+">"+newV6).WithNames(map[string]string{"a.example.com": "b.example.com"}, Name{}, Cluster{})
	for _, text := range []string{oldV4, "x=" + oldV4 + ";", "::ffff:" + oldV4, "::FFFF:C000:201", oldV6, "2001:0DB8:0:0:0:0:0:1", "[2001:db8::0001]:80",
		"0:0:0:0:0:ffff:" + oldV4, "at 10:00:00 2001:db8:0:0:0:0:0:1"} {
		if !m.quick.mayMentionOld(text) || len(m.Mentions(text)) != 1 {
			t.Errorf("%q was overlooked: prefilter %t, found %v", text, m.quick.mayMentionOld(text), m.Mentions(text))
		}
	}
	for _, text := range []string{"key: value", "12:x:y", "", ":", "a:bcdef:", "192.0.3.1", "2026-11-22T10:00:00Z", "1:2:3:4:5:x:6:7", ":a"} {
		if m.quick.mayMentionOld(text) {
			t.Errorf("%q is not worth a look", text)
		}
	}
	_, tail, _ := strings.Cut(oldV4, ".")
	if text := "8." + tail + " then " + oldV4; !m.quick.mayMentionOld(text) || m.quick.mayMentionOld("8."+tail) {
		t.Errorf("the end of an address hides the address, or is one")
	}
	for text, want := range map[string]bool{"data:,x": true, "see data:;base64,AA==": true, "data:text/plain,x": true, "data": false, "metadata: x": false, "metadata:\n": false, "data:": false, ":data": false, "": false} {
		if wire.MayHoldDataURL(text) != want {
			t.Errorf("%q may hold a data URL: %t", text, !want)
		}
	}
	ca := clustertest.Authority(t, "ca", "p256")
	for name, cert := range map[string]*x509.Certificate{
		"address": clustertest.Leaf(t, ca, "p256", "x", oldV4).Cert, "common name": clustertest.Leaf(t, ca, "p256", oldV4).Cert,
		"IPv6": clustertest.Leaf(t, ca, "p256", "x", "2001:0DB8::0:1").Cert, "URL": clustertest.Leaf(t, ca, "p256", "x", "https://["+oldV6+"]/").Cert,
		"name": clustertest.Leaf(t, ca, "p256", "x", "a.example.com").Cert, "authority": ca.Cert,
	} {
		if !m.MayMatter(cert.Raw) {
			t.Errorf("a certificate was overlooked: %s", name)
		}
	}
	if m.MayMatter(clustertest.Leaf(t, ca, "p256", "x", "c.example.com").Cert.Raw) {
		t.Log("a chance in thousands: a certificate looked as if it mattered")
	}
}

func FuzzPrefilter(f *testing.F) {
	m := mapping(f, oldV4+">"+newV4, oldV6+">"+newV6)
	f.Add("https://" + oldV4 + ":2379,[" + oldV6 + "]")
	f.Add("x:2001:db8:0:0:0:0:0:1/128")
	f.Fuzz(func(t *testing.T, text string) {
		if m.quick.mayMentionOld(text) {
			return
		}
		for w := range addressWords(text) {
			if _, ok := m.Get(w.addr); ok {
				t.Fatalf("%q was turned away and mentions %s", text, w.addr)
			}
		}
	})
}
