package recert

import (
	"bytes"
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

func FuzzEditBlobs(f *testing.F) {
	f.Add("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	f.Add("client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=\n")
	f.Fuzz(func(t *testing.T, text string) {
		if out := editBlobs(text, func(blob) []byte { return nil }); out != text {
			t.Fatalf("visiting changed %q to %q", text, out)
		}
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
