package recert

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
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
	// HasKey says that its private key is in the cluster.
	HasKey bool `json:"hasKey"`
}

// Scan lists every certificate and key of the cluster with its places and its signer. It writes nothing.
func (e *Engine) Scan(ctx context.Context, cfg Config) (*Inventory, error) {
	var out *Inventory
	err := e.survey(ctx, cfg, progress{}, func(s *scan) error {
		out = s.inventory()
		return nil
	})
	return out, err
}

// survey reads the whole cluster, every certificate included, and shows the result. The record of a run is asked only where addresses
// cannot tell whether a place was changed.
func (e *Engine) survey(ctx context.Context, cfg Config, record progress, use func(*scan) error) (err error) {
	store, err := e.ports.Keystore.Open(ctx)
	if err != nil {
		return fmt.Errorf("open the cluster's store: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close(ctx)) }()
	s, _, err := newScan(ctx, e.ports, cfg, store, progress{})
	if err != nil {
		return err
	}
	s.pki.all, s.surveying = true, true
	if s.mapping.Overlaps() {
		s.resume = record
	}
	if err := s.read(ctx, e.ports, store); err != nil {
		return err
	}
	if err := s.readRest(ctx, store); err != nil {
		return err
	}
	return use(s)
}

func (s *scan) inventory() *Inventory {
	s.resolveTokens(provedBy)
	out := &Inventory{Leftovers: s.plan.Leftovers, Unread: s.encrypted, Tokens: s.tokens}
	for _, cert := range s.pki.everything() {
		found := Found{Subject: cert.Subject.String(), Issuer: cert.Issuer.String(), Authority: cert.IsCA,
			Fingerprint: fingerprint(cert.Certificate), Algorithm: cert.SignatureAlgorithm.String(),
			NotBefore: cert.NotBefore.UTC(), NotAfter: cert.NotAfter.UTC(),
			HasKey: s.pki.keyOf(cert) != nil}
		found.Names, _ = mappedNames(cert.Certificate, Mapping{})
		if signer := s.pki.signerOf(cert); signer != nil {
			found.SignedBy = fingerprint(signer)
		}
		for _, at := range cert.places {
			found.Places = append(found.Places, at.where)
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
	out.Keys = keyList(s.pki.keys)
	out.PublicKeys = keyList(s.pki.publics)
	return out
}

func fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return hex.EncodeToString(sum[:])
}

// signerOf finds the certificate that signed one, whether or not its key is at hand.
func (p *pki) signerOf(cert *certificate) *x509.Certificate {
	if signer := p.signerIn(cert); signer != nil {
		return signer.Certificate
	}
	return nil
}

func (p *pki) signerIn(cert *certificate) *certificate {
	for _, ca := range p.candidates(cert) {
		if ca.CheckSignature(cert.SignatureAlgorithm, cert.RawTBSCertificate, cert.Signature) == nil {
			return ca
		}
	}
	return nil
}

// YAML renders the inventory for machines and for tickets.
func (i *Inventory) YAML() ([]byte, error) { return marshalYAML(i) }

// JSON renders the inventory with the same fields as YAML.
func (i *Inventory) JSON() ([]byte, error) { return marshalJSON(i) }

// WriteKeys renders the keys, and the tokens that are signed with some of them, for a person.
func (i *Inventory) WriteKeys(w io.Writer) error {
	var b strings.Builder
	writeKeys(&b, "Private keys", i.Keys)
	writeKeys(&b, "Public keys", i.PublicKeys)
	section(&b, "Tokens", len(i.Tokens))
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

// shortPrint is how much of a fingerprint a person needs to tell keys apart.
const shortPrint = 12

func writeKeys(b *strings.Builder, title string, keys []Key) {
	section(b, title, len(keys))
	for _, k := range keys {
		print := k.Fingerprint[:min(shortPrint, len(k.Fingerprint))]
		fmt.Fprintf(b, "%-*s  %s\n", shortPrint, print, k.Algorithm)
		for _, at := range k.Places {
			fmt.Fprintf(b, "  at %s\n", at)
		}
	}
}
