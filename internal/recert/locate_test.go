package recert

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEditBlobsKeepsWhatSurrounds(t *testing.T) {
	leaf := leafOf(t, nil, "p256", "cn", oldV4)
	text := "# note\n" + leaf.certPEM + "between\n" + leaf.keyPEM + "-----BEGIN DH PARAMETERS-----\nAAAA\n-----END DH PARAMETERS-----\n-----BEGIN CERTIFICATE-----\nnot base64!\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\n"
	var kinds []blobKind
	same := editBlobs(text, func(b blob) []byte {
		kinds = append(kinds, b.kind)
		return b.der()
	})
	if same != text {
		t.Errorf("replacing every blob by itself changed the text:\n%s", same)
	}
	if want := []blobKind{certificateBlob, privateKeyBlob, certificateBlob}; !slices.Equal(kinds, want) {
		t.Errorf("kinds %v, want %v", kinds, want)
	}
	edited := editBlobs(text, func(b blob) []byte {
		if b.kind == certificateBlob && b.der() != nil {
			return []byte("new")
		}
		return nil
	})
	if want := strings.Replace(text, leaf.certPEM, pemText("CERTIFICATE", []byte("new")), 1); edited != want {
		t.Errorf("got %q\nwant %q", edited, want)
	}
}

// laidOut writes PEM with something at the start, between and at the end of the lines of its body.
func laidOut(der []byte, lead, between, trail string) string {
	lines := strings.Split(strings.TrimSpace(pemText("CERTIFICATE", der)), "\n")
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
			if got := editBlobs(text, func(blob) []byte { return after }); got != want {
				t.Errorf("%s, %d to %d bytes: got %q\nwant %q", name, from, to, got, want)
			}
		}
	}
}

// A body of one short line grows into lines that begin as it does.
func TestEditBlobsGrowsALine(t *testing.T) {
	for _, lead := range []string{"\n", "\r\n", "\n    ", "\n\t", " ", "", `\n`, `\r\n`, `\\n`, `\n  `} {
		text, want := laidOut([]byte("short"), lead, lead, lead), laidOut(make([]byte, 200), lead, lead, lead)
		if got := editBlobs(text, func(blob) []byte { return make([]byte, 200) }); got != want {
			t.Errorf("%q: got %q\nwant %q", lead, got, want)
		}
	}
}

// A certificate in a block scalar is one in YAML still.
func TestEditBlobsInABlockScalar(t *testing.T) {
	leaf := leafOf(t, nil, "p256", "cn", oldV4)
	block := func(pem string) string {
		return "a:\n  ca: |\n    " + strings.ReplaceAll(strings.TrimSpace(pem), "\n", "\n    ") + "\n  b: c\n"
	}
	fresh := pemText("CERTIFICATE", make([]byte, 500))
	got := editBlobs(block(leaf.certPEM), func(blob) []byte { return make([]byte, 500) })
	seen := ""
	if _, err := editYAML(got, func(at []string, text string) (string, bool) {
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
	var edits []splicing
	eachPEM(text, func(b blob, start int) {
		lead := leadBlanks.FindString(b.body)
		trail := trailBlanks.FindString(b.body[len(lead):])
		if digits := b.body[len(lead) : len(b.body)-len(trail)]; digits != "" {
			edits = append(edits, splicing{start, start + len(b.body), lead + "..." + trail})
			starts = append(append(starts, lead), gapRun.FindAllString(digits, -1)...)
		}
	})
	return splice(text, edits), starts
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
		if out := editBlobs(text, func(blob) []byte { return nil }); out != text {
			t.Fatalf("visiting changed %q to %q", text, out)
		}
		checkSurroundings(t, text, editPEM(text, func(b blob) []byte {
			if leadBlanks.FindString(b.body) == b.body {
				return nil
			}
			return make([]byte, 100)
		}))
		once := editBlobs(text, func(b blob) []byte { return []byte("x") })
		if twice := editBlobs(once, func(b blob) []byte {
			if !bytes.Equal(b.der(), []byte("x")) {
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
	f.Add(`{"cluster":{"certificate-authority-data":"`, body, `"}}`)
	f.Add(`{"raw":"{\\"client-certificate-data\\":\\"`, body, `\\"}"}`)
	f.Fuzz(func(t *testing.T, before, data, after string) {
		text := before + data + after
		var seen [][]byte
		same := editKubeconfig(text, func(b blob) []byte { seen = append(seen, b.der()); return b.der() })
		again := 0
		editKubeconfig(same, func(b blob) []byte {
			if again >= len(seen) || !bytes.Equal(b.der(), seen[again]) {
				t.Fatalf("%q: what was written is not what is read: %x", text, b.der())
			}
			again++
			return nil
		})
		if again != len(seen) {
			t.Fatalf("%q: %d blobs became %d", text, len(seen), again)
		}
	})
}

func FuzzReissueTBS(f *testing.F) {
	leaf := leafOf(f, nil, "p256", oldV4, oldV4, "https://"+oldV4+"/x")
	f.Add(leaf.cert.RawTBSCertificate)
	m := mapping(f, oldV4+">"+newV4)
	f.Fuzz(func(t *testing.T, tbs []byte) {
		cert := *leaf.cert
		cert.RawTBSCertificate = tbs
		_, _ = rewriteTBS(&cert, change{names: m, authorityKey: []byte("id"), subjectKey: []byte("id"), public: leaf.cert.RawSubjectPublicKeyInfo}) // must not panic
	})
}

// PEM in a string of JSON, in a text, has its ends of lines escaped, and slashes perhaps.
func TestPEMInJSONInATextIsReplaced(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	self := leafOf(t, nil, "p256", "x", oldV4)
	b.secret("ns", "own", map[string]string{"tls.crt": self.certPEM, "tls.key": self.keyPEM})
	once := mustJSON(map[string]any{"ca": self.certPEM})
	b.configMap("ns", "json", map[string]string{"once": once, "slashes": strings.ReplaceAll(once, "/", `\/`), "twice": mustJSON(map[string]any{"inner": once})})
	runRecert(t, w)
	texts := worldTexts(t, w)
	fresh := texts[storagePrefix+"secrets/ns/own data/tls.crt"]
	again := mustJSON(map[string]any{"ca": fresh})
	for entry, want := range map[string]string{"once": again, "slashes": again, "twice": mustJSON(map[string]any{"inner": again})} {
		if got := texts[storagePrefix+"configmaps/ns/json data/"+entry]; got != want || fresh == self.certPEM {
			t.Errorf("%s: got %s\nwant %s", entry, got, want)
		}
	}
}
