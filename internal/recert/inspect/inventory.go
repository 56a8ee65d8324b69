package inspect

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
)

// Inventory is what Scan finds: public facts and places, no contents.
type Inventory struct {
	// Certificates are listed authorities first, then by subject; each once, with all its places.
	Certificates []Found `json:"certificates"`
	Keys         []Key   `json:"keys"`
	// PublicKeys are those that stand by themselves, such as the ones that service account tokens are checked with.
	PublicKeys []Key   `json:"publicKeys,omitempty"`
	Tokens     []Token `json:"tokens,omitempty"`
	// Unread counts the stored objects that are encrypted at rest, by resource.
	Unread map[string]int `json:"unread,omitempty"`
	// NotRead lists what could not be looked into.
	NotRead []Note `json:"notRead,omitempty"`
	// Leftovers lists mentions of the addresses that the configuration replaces.
	Leftovers []Note `json:"leftovers,omitempty"`
}

// Found is one certificate.
type Found struct {
	Subject   string `json:"subject"`
	Issuer    string `json:"issuer"`
	Authority bool   `json:"authority"`
	// Fingerprint is the SHA-256 of the certificate; SignedBy that of the certificate that signed it, empty if it is not in
	// the cluster, and its own if it signed itself.
	Fingerprint string    `json:"fingerprint"`
	SignedBy    string    `json:"signedBy,omitempty"`
	Algorithm   string    `json:"algorithm"`
	NotBefore   time.Time `json:"notBefore"`
	NotAfter    time.Time `json:"notAfter"`
	Names       []string  `json:"names"`
	Places      []string  `json:"places"`
	// HasKey is set where its private key is in the cluster.
	HasKey bool `json:"hasKey"`
}

// Scan lists every certificate and key of the cluster with its places and its signer. It writes nothing.
func Scan(ctx context.Context, p Ports, cfg config.Config) (*Inventory, error) {
	var out *Inventory
	err := withSurvey(ctx, p, cfg, config.Record{}, func(s *Survey) error {
		out = s.buildInventory()
		return nil
	})
	return out, err
}

func (s *Survey) buildInventory() *Inventory {
	s.resolveTokens(provedBy)
	out := &Inventory{Leftovers: s.Leftovers, NotRead: s.NotRead, Unread: s.unreadCounts(), Tokens: s.tokens}
	for _, cert := range s.PKI.Everything() {
		found := Found{Subject: cert.Subject.String(), Issuer: cert.Issuer.String(), Authority: cert.IsCA,
			Fingerprint: fingerprintOf(cert.Certificate), Algorithm: cert.SignatureAlgorithm.String(),
			NotBefore: cert.NotBefore.UTC(), NotAfter: cert.NotAfter.UTC(),
			HasKey: s.PKI.KeyOf(cert) != nil}
		found.Names = certs.NamesOf(cert.Certificate)
		if signer := s.PKI.SignerOf(cert); signer != nil {
			found.SignedBy = fingerprintOf(signer)
		}
		for _, at := range cert.Places {
			found.Places = append(found.Places, at.Where)
		}
		out.Certificates = append(out.Certificates, found)
	}
	slices.SortFunc(out.Certificates, func(a, b Found) int {
		if a.Authority != b.Authority {
			if a.Authority {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	out.Keys = keyList(s.PKI.Keys)
	out.PublicKeys = keyList(s.PKI.Publics)
	return out
}

func fingerprintOf(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return hex.EncodeToString(sum[:])
}

// WriteKeys renders the keys, and the tokens that are signed with some of them, for a person.
func (i *Inventory) WriteKeys(w io.Writer) error {
	var b strings.Builder
	writeKeys(&b, "Private keys", i.Keys)
	writeKeys(&b, "Public keys", i.PublicKeys)
	WriteSection(&b, "Tokens", len(i.Tokens))
	for _, t := range i.Tokens {
		by := "a key that is not in the cluster"
		if t.SignedBy != "" {
			by = "key " + t.SignedBy[:shortPrint]
		}
		fmt.Fprintf(&b, "%s, signed by %s\n  at %s\n", t.Algorithm, by, t.Place)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shortPrint is how many digits of a fingerprint are printed.
const shortPrint = 12

func writeKeys(b *strings.Builder, title string, keys []Key) {
	WriteSection(b, title, len(keys))
	for _, k := range keys {
		print := k.Fingerprint[:min(shortPrint, len(k.Fingerprint))]
		fmt.Fprintf(b, "%-*s  %s\n", shortPrint, print, k.Algorithm)
		for _, at := range k.Places {
			fmt.Fprintf(b, "  at %s\n", at)
		}
	}
}

// Key is one private or public key.
type Key struct {
	Algorithm string `json:"algorithm"`
	// Fingerprint is the SHA-256 of the public key (subjectPublicKeyInfo, RFC 5280 4.1); empty where it is of an unknown kind.
	Fingerprint string   `json:"fingerprint,omitempty"`
	Places      []string `json:"places"`
}

// keyList lists keys, each once.
func keyList(files []*certs.KeyFile) []Key {
	var out []Key
	index := map[[sha256.Size]byte]int{}
	for _, k := range files {
		der := k.DER()
		if der == nil {
			continue // its label says that it is a key, and it is none
		}
		sum := sha256.Sum256(der)
		at, known := index[sum]
		if !known {
			at = len(out)
			index[sum] = at
			public := k.Public()
			out = append(out, Key{Algorithm: certs.KeyAlgorithm(public), Fingerprint: certs.KeyFingerprint(public)})
		}
		out[at].Places = append(out[at].Places, k.Where)
	}
	return out
}
