package recert

import (
	"crypto/x509"
	"strings"
	"testing"
)

// A glance may err on one side only: what it turns away has nothing to be found in it.
func TestGlanceOverlooksNothing(t *testing.T) {
	m := mapping(t, oldV4+">"+newV4, oldV6+">"+newV6).withNames(map[string]string{"a.example.com": "b.example.com"}, Renaming{}, ClusterRenaming{})
	for _, text := range []string{oldV4, "x=" + oldV4 + ";", "::ffff:" + oldV4, "::FFFF:C000:201", oldV6, "2001:0DB8:0:0:0:0:0:1", "[2001:db8::0001]:80",
		"0:0:0:0:0:ffff:" + oldV4, "at 10:00:00 2001:db8:0:0:0:0:0:1"} {
		if !m.quick.text(text) || len(m.Mentions(text)) != 1 {
			t.Errorf("%q was overlooked: glance %t, found %v", text, m.quick.text(text), m.Mentions(text))
		}
	}
	for _, text := range []string{"key: value", "12:x:y", "", ":", "a:bcdef:", "192.0.3.1", "2026-11-22T10:00:00Z", "1:2:3:4:5:x:6:7", ":a"} {
		if m.quick.text(text) {
			t.Errorf("%q is not worth a look", text)
		}
	}
	_, tail, _ := strings.Cut(oldV4, ".")
	if text := "8." + tail + " then " + oldV4; !m.quick.text(text) || m.quick.text("8."+tail) {
		t.Errorf("the end of an address hides the address, or is one")
	}
	for text, want := range map[string]bool{"data:,x": true, "see data:;base64,AA==": true, "data:text/plain,x": true, "data": false, "metadata: x": false, "metadata:\n": false, "data:": false, ":data": false, "": false} {
		if mayHoldDataURL(text) != want {
			t.Errorf("%q may hold a data URL: %t", text, !want)
		}
	}
	ca := authority(t, "ca", "p256")
	for name, cert := range map[string]*x509.Certificate{
		"address": leafOf(t, ca, "p256", "x", oldV4).cert, "common name": leafOf(t, ca, "p256", oldV4).cert,
		"IPv6": leafOf(t, ca, "p256", "x", "2001:0DB8::0:1").cert, "URL": leafOf(t, ca, "p256", "x", "https://["+oldV6+"]/").cert,
		"name": leafOf(t, ca, "p256", "x", "a.example.com").cert, "authority": ca.cert,
	} {
		if !m.quick.certificate(cert.Raw) {
			t.Errorf("a certificate was overlooked: %s", name)
		}
	}
	if m.quick.certificate(leafOf(t, ca, "p256", "x", "c.example.com").cert.Raw) {
		t.Log("a chance in thousands: a certificate looked as if it mattered")
	}
}

func FuzzGlance(f *testing.F) {
	m := mapping(f, oldV4+">"+newV4, oldV6+">"+newV6)
	f.Add("https://" + oldV4 + ":2379,[" + oldV6 + "]")
	f.Add("x:2001:db8:0:0:0:0:0:1/128")
	f.Fuzz(func(t *testing.T, text string) {
		if m.quick.text(text) {
			return
		}
		for w := range words(text) {
			if _, ok := m.Get(w.addr); ok {
				t.Fatalf("%q was turned away and mentions %s", text, w.addr)
			}
		}
	})
}
