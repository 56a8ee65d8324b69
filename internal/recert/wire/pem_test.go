package wire

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
)

func TestEditBlobsKeepsWhatSurrounds(t *testing.T) {
	leaf := clustertest.Leaf(t, nil, "p256", "cn", oldV4)
	text := "# note\n" + leaf.CertPEM + "between\n" + leaf.KeyPEM + "-----BEGIN DH PARAMETERS-----\nAAAA\n-----END DH PARAMETERS-----\n-----BEGIN CERTIFICATE-----\nnot base64!\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\n"
	var kinds []blobKind
	same := EditBlobs(text, func(b Blob) []byte {
		kinds = append(kinds, b.Kind)
		return b.DER()
	})
	if same != text {
		t.Errorf("replacing every blob by itself changed the text:\n%s", same)
	}
	if want := []blobKind{CertificateBlob, PrivateKeyBlob, CertificateBlob}; !slices.Equal(kinds, want) {
		t.Errorf("kinds %v, want %v", kinds, want)
	}
	edited := EditBlobs(text, func(b Blob) []byte {
		if b.Kind == CertificateBlob && b.DER() != nil {
			return []byte("new")
		}
		return nil
	})
	if want := strings.Replace(text, leaf.CertPEM, clustertest.PEMText("CERTIFICATE", []byte("new")), 1); edited != want {
		t.Errorf("got %q\nwant %q", edited, want)
	}
}

// laidOut writes PEM with something at the start, between and at the end of the lines of its body.
func laidOut(der []byte, lead, between, trail string) string {
	lines := strings.Split(strings.TrimSpace(clustertest.PEMText("CERTIFICATE", der)), "\n")
	last := len(lines) - 1
	return lines[0] + lead + strings.Join(lines[1:last], between) + trail + lines[last]
}

func TestEditBlobsKeepsTheLayout(t *testing.T) {
	for name, c := range map[string]struct{ lead, between, trail string }{
		"plain":                 {"\n", "\n", "\n"},
		"crlf":                  {"\r\n", "\r\n", "\r\n"},
		"indented":              {"\n    ", "\n    ", "\n    "},
		"indented, crlf":        {"\r\n    ", "\r\n    ", "\r\n    "},
		"indented by a tab":     {"\n\t", "\n\t", "\n\t"},
		"one line":              {"", "", ""},
		"one line of its own":   {"\n  ", "", "\n  "},
		"one line with spaces":  {" ", " ", " "},
		"spaces, none at ends":  {"", " ", ""},
		"the end line indented": {"\n", "\n", "\n  "},
		"a blank after begin":   {" \n  ", "\n  ", "\n  "},
		"an empty line":         {"\n\n  ", "\n  ", "\n  "},
		"headers":               {"\nComment: a: b\nX-Own: 1\n\n", "\n", "\n"},
		"headers, indented":     {"\r\n  Comment: c\r\n\r\n  ", "\r\n  ", "\r\n  "},
	} {
		for from, to := range map[int]int{100: 300, 300: 100, 96: 480, 480: 96, 500: 501} {
			before, after := bytes.Repeat([]byte{1}, from), bytes.Repeat([]byte{2}, to)
			text := "ca: |\n    # own\n    " + laidOut(before, c.lead, c.between, c.trail) + "\n  x: y\n"
			want := "ca: |\n    # own\n    " + laidOut(after, c.lead, c.between, c.trail) + "\n  x: y\n"
			if got := EditBlobs(text, func(Blob) []byte { return after }); got != want {
				t.Errorf("%s, %d to %d bytes: got %q\nwant %q", name, from, to, got, want)
			}
		}
	}
}

// A body of one short line grows into lines that begin as it does.
func TestEditBlobsGrowsALine(t *testing.T) {
	for _, lead := range []string{"\n", "\r\n", "\n    ", "\n\t", " ", "", `\n`, `\r\n`, `\\n`, `\n  `} {
		text, want := laidOut([]byte("short"), lead, lead, lead), laidOut(make([]byte, 200), lead, lead, lead)
		if got := EditBlobs(text, func(Blob) []byte { return make([]byte, 200) }); got != want {
			t.Errorf("%q: got %q\nwant %q", lead, got, want)
		}
	}
}

// A certificate in a block scalar is one in YAML still.
func TestEditBlobsInABlockScalar(t *testing.T) {
	leaf := clustertest.Leaf(t, nil, "p256", "cn", oldV4)
	block := func(pem string) string {
		return "a:\n  ca: |\n    " + strings.ReplaceAll(strings.TrimSpace(pem), "\n", "\n    ") + "\n  b: c\n"
	}
	fresh := clustertest.PEMText("CERTIFICATE", make([]byte, 500))
	got := EditBlobs(block(leaf.CertPEM), func(Blob) []byte { return make([]byte, 500) })
	seen := ""
	if _, err := EditYAML(got, func(at []string, text string) (string, bool) {
		if strings.Join(at, "/") == "a/ca" {
			seen = text
		}
		return text, false
	}); err != nil || seen != fresh {
		t.Errorf("%v: the document is\n%s\nand says %q", err, got, seen)
	}
}

var gapRun = regexp.MustCompile(`(?:[ \t\r\n]|\\+[nrt])+`)

// surroundings is a text without the digits of its PEM, and with one separator for all that a body has between them: how many lines
// it has is up to the certificate. starts are what the lines of the bodies begin with.
func surroundings(text string) (around string, starts []string) {
	var edits []Edit
	for _, e := range pemEdits(text, func(Blob) []byte { return []byte("x") }) {
		body := text[e.Start:e.End]
		lead := leadBlanks.FindString(body)
		trail := trailBlanks.FindString(body[len(lead):])
		if digits := body[len(lead) : len(body)-len(trail)]; digits != "" {
			edits = append(edits, Edit{e.Start, e.End, lead + "..." + trail})
			starts = append(append(starts, lead), gapRun.FindAllString(digits, -1)...)
		}
	}
	return Splice(text, edits), starts
}

// checkSurroundings demands that a change leaves what is not digits, and separates lines in no way that was not there.
func checkSurroundings(t *testing.T, before, after string) {
	around, starts := surroundings(before)
	left, now := surroundings(after)
	if left != around {
		t.Fatalf("the text around of %q is %q, and was %q", after, left, around)
	}
	for _, gap := range now {
		if !slices.ContainsFunc(starts, func(old string) bool { return strings.HasSuffix(old, gap) }) {
			t.Fatalf("%q: nothing in %q begins with %q", after, before, gap)
		}
	}
}

func FuzzEditBlobs(f *testing.F) {
	f.Add("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	for _, gap := range []string{"\r\n", "\n    ", "\n\t", " ", "", `\n`, `\r\n`, `\\n`, `\n\t`} {
		f.Add("a: |" + gap + laidOut(make([]byte, 100), gap, gap, gap) + gap + "b")
	}
	f.Add("client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=\n")
	f.Fuzz(func(t *testing.T, text string) {
		if out := EditBlobs(text, func(Blob) []byte { return nil }); out != text {
			t.Fatalf("visiting changed %q to %q", text, out)
		}
		checkSurroundings(t, text, EditPEM(text, func(b Blob) []byte {
			if leadBlanks.FindString(b.Body) == b.Body {
				return nil
			}
			return make([]byte, 100)
		}))
		once := EditBlobs(text, func(b Blob) []byte { return []byte("x") })
		if twice := EditBlobs(once, func(b Blob) []byte {
			if !bytes.Equal(b.DER(), []byte("x")) {
				t.Fatalf("%q: a blob was not replaced", text)
			}
			return nil
		}); twice != once {
			t.Fatal("unstable")
		}
	})
}

// A kubeconfig survives having its certificates replaced, in YAML, in JSON, and in JSON inside JSON.
func FuzzKubeconfig(f *testing.F) {
	const body = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
	f.Add("users:\n- user:\n    client-certificate-data: ", body, "\n    token: x\n")
	f.Add("    client-certificate-data: >-\n      ", body[:40]+"\n      "+body[40:], "\n    token: x\n")
	f.Add(`{"cluster":{"certificate-authority-data":"`, body, `"}}`)
	f.Add(`{"raw":"{\\"client-certificate-data\\":\\"`, body, `\\"}"}`)
	f.Fuzz(func(t *testing.T, before, data, after string) {
		text := before + data + after
		var seen [][]byte
		same := Splice(text, kubeconfigEdits(text, func(b Blob) []byte { seen = append(seen, b.DER()); return b.DER() }))
		again := 0
		kubeconfigEdits(same, func(b Blob) []byte {
			if again >= len(seen) || !bytes.Equal(b.DER(), seen[again]) {
				t.Fatalf("%q: what was written is not what is read: %x", text, b.DER())
			}
			again++
			return nil
		})
		if again != len(seen) {
			t.Fatalf("%q: %d blobs became %d", text, len(seen), again)
		}
	})
}
