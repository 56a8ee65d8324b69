package wire

import (
	"net/url"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
)

// What a change of a data URL's contents leaves is written as it was.
func TestEditDataURLsKeepsEscapes(t *testing.T) {
	long := strings.Repeat("%3D%3a/", 20)
	for name, c := range map[string]struct{ text, old, fresh, want string }{
		"escapes that no URL needs": {"data:,a%3Db%3A%26%40%2Bc%0AX%0A%3D", "X", "Y", "data:,a%3Db%3A%26%40%2Bc%0AY%0A%3D"},
		"characters left raw":       {"data:,a=b:&@+/;,?c%0AX%0A/=", "X", "Y", "data:,a=b:&@+/;,?c%0AY%0A/="},
		"one line":                  {"data:," + long + "X" + long, "X", "Y", "data:," + long + "Y" + long},
		"lower case":                {"data:,%3d%0aX%0a%3d", "X", "Y\n=", "data:,%3d%0aY%0a%3d%0a%3d"},
		"both cases":                {"data:,%3d%3D%0a%0AX%3D%3d", "X", "Y", "data:,%3d%3D%0a%0AY%3D%3d"},
		"several changes":           {"data:,X%0A%3D=%3A:%0AX%0A%40@X", "X", "Y%", "data:,Y%25%0A%3D=%3A:%0AY%25%0A%40@Y%25"},
		"like a line after it":      {"data:,%3D=X%0A%3D%3D%0A==Y", "X", "Y", "data:,%3D=Y%0A%3D%3D%0A==Y"},
		"half of an escape":         {"data:,%3D1%3D", "=1", ">1", "data:,%3E1%3D"},
		"a character of two bytes":  {"data:,%3D%C3%A9%3D", "é", "è", "data:,%3D%C3%A8%3D"},
		"a raw one of two bytes":    {"data:,%3Dé%3D", "é", "è", "data:,%3D%C3%A8%3D"},
		"a raw one that stays":      {"data:,é%3DXé=", "X", "Y", "data:,é%3DYé="},
		"more lines":                {"data:,%3D%0AX%0A%40", "X", "1\n2\n3/@", "data:,%3D%0A1%0A2%0A3%2F%40%0A%40"},
		"fewer lines":               {"data:,%3D%0AX%0AX%0A%40", "X\n", "", "data:,%3D%0A%40"},
		"an escaped percent":        {"data:,%2541%3DX%250A", "X", "%3D", "data:,%2541%3D%253D%250A"},
		"all of it":                 {"data:,X", "X", "a b/\"'", "data:,a%20b%2F%22%27"},
		"nothing":                   {"data:,%3D%41", "X", "Y", "data:,%3D%41"},
		"not an encoding":           {"data:,%3D%4X", "X", "Y", "data:,%3D%4X"},
		"base64":                    {"data:;base64,WA==", "X", "Y", "data:;base64,WQ=="},
		"what surrounds":            {`{"a":"data:,%3DX","b":"%3D"}`, "X", "Y", `{"a":"data:,%3DY","b":"%3D"}`},
	} {
		change := func(content string) []Edit { return replaceAll(content, c.old, c.fresh) }
		if got := EditDataURLs(c.text, change); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// replaceAll are the edits that strings.ReplaceAll makes.
func replaceAll(content, old, fresh string) (edits []Edit) {
	for from := 0; ; {
		i := strings.Index(content[from:], old)
		if i < 0 {
			return edits
		}
		edits = append(edits, Edit{from + i, from + i + len(old), fresh})
		from += i + len(old)
	}
}

// Certificates that are replaced leave what stands between them, whichever way that is escaped.
func TestEditDataURLsBetweenCertificates(t *testing.T) {
	leaf := clustertest.Leaf(t, nil, "p256", "cn", oldV4)
	escaped := strings.NewReplacer("+", "%2B", "=", "%3D", "\n", "%0A", " ", "%20", "/", "%2f").Replace
	const between = "%23 a%3Db=c%0A:%3A%0a"
	text := func(pem string) string {
		return `"source":"data:,%3D%40` + strings.ReplaceAll("@"+between+"@", "@", escaped(pem)) + `%26&"`
	}
	before := strings.ReplaceAll(text(leaf.CertPEM), "%23 ", "%23%20")
	another := []byte("another ce") // whose base64 needs no character that the first may do without
	after := strings.ReplaceAll(text(clustertest.PEMText("CERTIFICATE", another)), "%23 ", "%23%20")
	if got := EditBlobs(before, func(Blob) []byte { return another }); got != after {
		t.Errorf("got  %s\nwant %s", got, after)
	}
}

// Whatever is made of the contents is what the data URL says afterwards, and no change is none.
func FuzzEditEscaped(f *testing.F) {
	f.Add("a%3Db%0Ac%0a=%C3%A9é", 2, 5, "\nd\n=é")
	f.Add("%0A%0A%250A", 0, 4, "\n\n\n%0A")
	f.Fuzz(func(t *testing.T, encoded string, start, end int, fresh string) {
		plain, err := url.PathUnescape(encoded)
		if err != nil || start < 0 || end < start || end > len(plain) {
			return
		}
		if got := editEscaped(encoded, nil); got != encoded {
			t.Fatalf("no change makes %q of %q", got, encoded)
		}
		want := plain[:start] + fresh + plain[end:]
		got := editEscaped(encoded, []Edit{{start, end, fresh}})
		if said, err := url.PathUnescape(got); err != nil || said != want {
			t.Fatalf("%q of %q says %q, want %q, %v", got, encoded, said, want, err)
		}
	})
}
