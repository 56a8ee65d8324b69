package pki

import (
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

// Identity is all key material of one node.
type Identity struct {
	CAs       map[string]*KeyPair
	Leaves    map[string]*KeyPair
	ServiceSA *KeyPair // signs legacy service account tokens
	BoundSA   *KeyPair // signs bound service account tokens
	Made      time.Time
}

// NewIdentity makes every key and certificate of the site.
func NewIdentity(s site.Site, now time.Time) (*Identity, error) {
	cas, err := newAuthorities(now)
	if err != nil {
		return nil, err
	}
	id := &Identity{CAs: cas, Leaves: map[string]*KeyPair{}, Made: now}
	for _, spec := range Leaves(s) {
		leaf, err := cas[spec.Signer].issue(now, spec.Req)
		if err != nil {
			return nil, fmt.Errorf("issue %s: %w", spec.ID, err)
		}
		if spec.Signer != "csr" {
			leaf.CertPEM = append(leaf.CertPEM, cas[spec.Signer].CertPEM...)
		}
		id.Leaves[spec.ID] = leaf
	}
	// Only the keys of these two are used; a certificate around them is the price of one key type.
	if id.ServiceSA, err = newAuthority(now, "service-account", 3650*Day); err != nil {
		return nil, err
	}
	id.BoundSA, err = newAuthority(now, "bound-service-account", 3650*Day)
	return id, err
}

// Bundle concatenates the certificates of the named signers.
func (id *Identity) Bundle(ids ...string) []byte {
	var out []byte
	for _, name := range ids {
		out = append(out, id.CAs[name].CertPEM...)
	}
	return out
}

// newAuthorities makes a fresh key pair for every signer, by ID.
func newAuthorities(now time.Time) (map[string]*KeyPair, error) {
	cas := map[string]*KeyPair{}
	for _, spec := range Signers() {
		ca, err := newAuthority(now, signerName(spec.CN, now), spec.Validity)
		if err != nil {
			return nil, fmt.Errorf("make the signer %s: %w", spec.ID, err)
		}
		cas[spec.ID] = ca
	}
	return cas, nil
}

func signerName(cn string, now time.Time) string {
	if len(cn) > 2 && cn[len(cn)-2:] == "%d" {
		return fmt.Sprintf(cn, now.Unix())
	}
	return cn
}
