package replace

import (
	"net/netip"
	"strings"
	"testing"
)

func mapping(t testing.TB, pairs ...string) Mapping {
	t.Helper()
	var changes []Address
	for _, p := range pairs {
		from, to, _ := strings.Cut(p, ">")
		changes = append(changes, Address{netip.MustParseAddr(from), netip.MustParseAddr(to)})
	}
	m, err := NewMapping(changes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTextMapsWholeAddressesOnly(t *testing.T) {
	m := mapping(t, "192.0.2.1>198.51.100.7", "2001:db8::1>2001:db8:ffff::7")
	for _, c := range []struct{ in, want string }{
		{"192.0.2.1", "198.51.100.7"},
		{"192.0.2.10", "192.0.2.10"},
		{"192.0.2.100", "192.0.2.100"},
		{"1192.0.2.1", "1192.0.2.1"},
		{"1.192.0.2.1", "1.192.0.2.1"},
		{"192.0.2.1.5", "192.0.2.1.5"},
		{"https://192.0.2.1:2379", "https://198.51.100.7:2379"},
		{"https://192.0.2.1:2379,https://192.0.2.10:2379", "https://198.51.100.7:2379,https://192.0.2.10:2379"},
		{"https://192.0.2.1/24", "https://198.51.100.7/24"},
		{"192.0.2.1/24", "192.0.2.1/24"},
		{"192.0.2.1/32", "198.51.100.7/32"},
		{"192.0.2.1-192.0.2.9", "192.0.2.1-192.0.2.9"},
		{"host192.0.2.1", "host192.0.2.1"},
		{"node-192.0.2.1", "node-192.0.2.1"},
		{"192.0.2.1.nip.io", "192.0.2.1.nip.io"},
		{"moved to 192.0.2.1.", "moved to 198.51.100.7."},
		{"ip:192.0.2.1", "ip:198.51.100.7"},
		{"user@192.0.2.1", "user@198.51.100.7"},
		{"::ffff:192.0.2.1", "::ffff:198.51.100.7"},
		{"export NODE_IP=\"192.0.2.1\"\n", "export NODE_IP=\"198.51.100.7\"\n"},
		{"[2001:db8::1]:2379", "[2001:db8:ffff::7]:2379"},
		{"https://[2001:0DB8:0:0::0001]:2379", "https://[2001:db8:ffff::7]:2379"},
		{"2001:db8:0:0:0:0:0:1", "2001:db8:ffff::7"},
		{"2001:db8::10", "2001:db8::10"},
		{"2001:db8::1:1", "2001:db8::1:1"},
		{"2001:db8::1%eth0", "2001:db8::1%eth0"},
		{"2001:db8::1/64", "2001:db8::1/64"},
		{"2001:db8::1/128", "2001:db8:ffff::7/128"},
		{"addr 2001:db8::1: up", "addr 2001:db8:ffff::7: up"},
		{"", ""},
		{":::", ":::"},
		{"....", "...."},
	} {
		if got := m.Text(c.in); got != c.want {
			t.Errorf("Text(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestTextSwapsAtOnce(t *testing.T) {
	m := mapping(t, "192.0.2.1>192.0.2.2", "192.0.2.2>192.0.2.1")
	if got := m.Text("192.0.2.1 192.0.2.2"); got != "192.0.2.2 192.0.2.1" {
		t.Fatalf("got %q", got)
	}
	if !m.Overlaps() || mapping(t, "192.0.2.1>192.0.2.2").Overlaps() {
		t.Error("Overlaps is wrong")
	}
}

func TestMentionsSeesNetworksAndRanges(t *testing.T) {
	m := mapping(t, "192.0.2.1>198.51.100.7")
	for text, want := range map[string]int{"192.0.2.1/24": 1, "192.0.2.1-192.0.2.5": 1, "192.0.2.10": 0, "192.0.2.1 192.0.2.1": 1} {
		if got := len(m.Mentions(text)); got != want {
			t.Errorf("Mentions(%q): %d, want %d", text, got, want)
		}
	}
}

// A mention need not be what may be replaced: nobody must take what follows for reported and be wrong.
func TestMentionsSeesAddressesBesideAnything(t *testing.T) {
	m := mapping(t, "192.0.2.1>198.51.100.7", "2001:db8::1>2001:db8:ffff::7")
	for text, want := range map[string]int{
		"node:192.0.2.1": 1, "etcd:192.0.2.1:2379": 1, "192.0.2.1:8080:80": 1, "ptcp:6640:192.0.2.1": 1, "192.0.2.1...": 1,
		"192.0.2.1.example.com": 1, "192.0.2.1.nip.io": 1, "%2F192.0.2.1": 1, "ip6:2001:db8::1": 1, "node:2001:DB8:0::1": 1,
		"1.192.0.2.1": 0, "192.0.2.1.1": 0, "192.0.2.11": 0, "1192.0.2.1": 0, "node:192.0.2.10": 0, "ip6:2001:db8::10": 0,
		"192.0.2.10 192.0.2.1": 1, "cafe:2001:db8::1": 0,
	} {
		if got := len(m.Mentions(text)); got != want {
			t.Errorf("Mentions(%q): %d, want %d", text, got, want)
		}
		if strings.ContainsAny(text, " ") || want == 0 {
			continue
		}
		if got := m.Text(text); got != text && !strings.Contains(got, "198.51.100.7") {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestNewMappingRefuses(t *testing.T) {
	a, b, v6 := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("2001:db8::1")
	for name, changes := range map[string][]Address{
		"family":        {{a, v6}},
		"contradiction": {{a, b}, {a, netip.MustParseAddr("192.0.2.3")}},
		"zone":          {{netip.MustParseAddr("fe80::1%eth0"), v6}},
		"mapped":        {{netip.MustParseAddr("::ffff:192.0.2.1"), v6}},
		"invalid":       {{netip.Addr{}, b}},
	} {
		if _, err := NewMapping(changes); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Static pods are JSON in a text: what an escape ends with is no part of an address.
func TestAddressesBehindJSONEscapes(t *testing.T) {
	m := mapping(t, "192.0.2.1>198.51.100.7", "2001:db8::1>2001:db8:ffff::7")
	for text, want := range map[string]string{
		`x\n192.0.2.1 y`:              `x\n198.51.100.7 y`,
		`\t192.0.2.1:2379`:            `\t198.51.100.7:2379`,
		`\u003c192.0.2.1\u003e`:       `\u003c198.51.100.7\u003e`,
		`a\u0026192.0.2.1`:            `a\u0026198.51.100.7`,
		`\u003c2001:db8::1\u003e`:     `\u003c2001:db8:ffff::7\u003e`,
		`"\\n192.0.2.1"`:              `"\\n192.0.2.1"`, // an escaped backslash
		`n192.0.2.1`:                  `n192.0.2.1`,
		`\u003c192.0.2.10`:            `\u003c192.0.2.10`,
		`\u003c192.0.2.1.example.org`: `\u003c192.0.2.1.example.org`,
	} {
		if got := m.Text(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

// FuzzText: text without the old address stays as it is, and mapping twice is mapping once.
func FuzzText(f *testing.F) {
	for _, s := range []string{"https://192.0.2.1:2379", "[2001:db8::1]:1", "192.0.2.1/24", "::ffff:192.0.2.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m := mapping(t, "192.0.2.1>198.51.100.7", "2001:db8::1>2001:db8:ffff::7")
		once := m.Text(text)
		if twice := m.Text(once); twice != once {
			t.Fatalf("%q became %q, then %q", text, once, twice)
		}
		if len(m.Mentions(text)) == 0 && once != text {
			t.Fatalf("%q mentions no old address but became %q", text, once)
		}
	})
}
