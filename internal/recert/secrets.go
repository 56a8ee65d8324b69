package recert

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// new_keys: nothing that the cluster's old keys or credentials open is in the data afterwards. Every private key becomes another one of
// its kind; certificates are signed again by whom they were signed by; public keys that stand by themselves follow. Tokens that a replaced
// key signed are signed with the new one, all others lose their signature. Keys of other kinds and credentials of registries go.

// chooseKeys makes the new keys, or takes those of an interrupted run. Given keys are those of use_key_rules, which stay.
func (p *planner) chooseKeys(given map[string]crypto.Signer) error {
	if !p.Config.NewKeys {
		return nil
	}
	keys := p.Record.Keys
	if len(p.Record.Certificates) == 0 {
		made, err := p.PKI.MakeKeys(p.ports.Rand)
		if err != nil {
			return err
		}
		keys, p.plan.keys = made, made
	}
	p.PKI.UseKeys(keys)
	tokens, err := newResigner(keys)
	if err != nil {
		return err
	}
	p.tokens = tokens
	for _, key := range given {
		info, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			return fmt.Errorf("encode a public key: %w", err)
		}
		tokens.made[keyID(info)] = true
	}
	return nil
}

// signedAlone warns of a certificate that its authority cannot sign for its new key.
func (p *planner) signedAlone(cert *certs.Certificate, cause error) {
	p.addWarning(cert.Places[0].Where, fmt.Sprintf("the certificate of %q gets a new key and is signed with that key itself, because %v: "+
		"replace it on the node", cert.Subject, cause))
}

// successorOf is the present signer of kubelets' certificates, for one whose signer has rotated.
func (p *planner) successorOf(cert *certs.Certificate) *certs.Certificate {
	if !rules.IsKubeletOwn(cert) {
		return nil
	}
	return p.PKI.Successor(cert, p.Now, rules.IsCSRSigner)
}

// replaceIn replaces certificates, and under new_keys all that must not stay, in a text.
func (p *planner) replaceIn(where, text string) string {
	switch {
	case !p.Config.NewKeys || p.tokens == nil:
		return p.PKI.Replace(text)
	case strings.HasSuffix(where, lastApplied) && strings.Contains(where, "/secrets/"):
		return "" // a copy of a Secret's data
	}
	return editUnpacked(text, func(text string) string {
		out := p.replaceSecrets(where, text)
		return wire.EditDataURLs(out, func(content string) []wire.Edit {
			edited := editUnpacked(content, func(content string) string { return p.replaceSecrets(where, content) })
			if edited == content {
				return nil
			}
			return []wire.Edit{{Start: 0, End: len(content), Text: edited}}
		})
	})
}

const lastApplied = "metadata/annotations/kubectl.kubernetes.io/last-applied-configuration"

// replaceSecrets replaces what stands in a text itself.
func (p *planner) replaceSecrets(where, text string) string {
	out := inspect.EditTokens(p.PKI.Replace(text), p.tokens.replaceToken)
	out = p.dropOtherKeys(where, out)
	return dropRegistryLogins(out)
}

// editUnpacked edits a text that is compressed as what it is.
func editUnpacked(text string, edit func(string) string) string {
	plain, ok := wire.Inflate(text)
	if !ok {
		return edit(text)
	}
	edited := editUnpacked(plain, edit)
	if edited == plain {
		return text
	}
	return wire.Deflate(edited)
}

// privateBlock is a private key in PEM, as it is or with escaped ends of lines.
var privateBlock = regexp.MustCompile(`(?s)-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----(.*?)-----END ([A-Z0-9 ]*)-----(?:\r?\n)?`)

// dropOtherKeys removes the private keys that are no new ones: of kinds that are not replaced, or where none was looked for.
func (p *planner) dropOtherKeys(where, text string) string {
	if !strings.Contains(text, "PRIVATE KEY-----") {
		return text
	}
	return privateBlock.ReplaceAllStringFunc(text, func(block string) string {
		if key := certs.FirstKey(block); key != nil && p.tokens.isNewKey(key) {
			return block
		}
		label := privateBlock.FindStringSubmatch(block)[1]
		p.addWarning(where, fmt.Sprintf("a key in it is removed, because it could not be replaced (%s)", label))
		return ""
	})
}

// Credentials of registries in a containers auth.json or a dockercfg, also within a text that escapes its quotes.
var (
	loginField = regexp.MustCompile(`(\\*")(auth|password|identitytoken|registrytoken)(\\*"\s*:\s*\\*")([^"\\]*)(\\*")`)
	authsField = regexp.MustCompile(`\\*"auths\\*"\s*:`)
)

// placeholder is "placeholder:placeholder" as user and password; its parts are those of the placeholder of the pull secret.
const (
	placeholderText = "placeholder"
	placeholderAuth = "cGxhY2Vob2xkZXI6cGxhY2Vob2xkZXI="
)

// holdsLogins tells credentials of registries from other JSON with a password in it: by "auths", or by an "auth" that is the
// base64 of a user and a password.
func holdsLogins(text string) bool {
	if authsField.MatchString(text) {
		return true
	}
	return slices.ContainsFunc(loginField.FindAllStringSubmatch(text, -1), func(m []string) bool {
		plain, err := base64.StdEncoding.DecodeString(m[4])
		return m[2] == "auth" && err == nil && strings.Contains(string(plain), ":")
	})
}

// dropRegistryLogins replaces the credentials of registries but for the cluster's own tokens, which are signed again.
func dropRegistryLogins(text string) string {
	if !holdsLogins(text) {
		return text
	}
	return loginField.ReplaceAllStringFunc(text, func(field string) string {
		m := loginField.FindStringSubmatch(field)
		value := m[4]
		if m[2] == "auth" {
			plain, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return field
			}
			_, value, _ = strings.Cut(string(plain), ":")
		}
		switch {
		case strings.HasPrefix(value, "eyJ"), value == "":
			return field
		case m[2] == "auth":
			return m[1] + m[2] + m[3] + placeholderAuth + m[5]
		}
		return m[1] + m[2] + m[3] + placeholderText + m[5]
	})
}

// resigner signs tokens with the keys that take the place of others.
type resigner struct {
	old   map[string]crypto.PublicKey // by subjectPublicKeyInfo
	fresh config.Keys
	named map[string]string // subjectPublicKeyInfo of old keys, by the name that tokens give them
	made  map[string]bool   // names of the new keys
}

func newResigner(keys config.Keys) (*resigner, error) {
	r := &resigner{old: map[string]crypto.PublicKey{}, fresh: keys, named: map[string]string{}, made: map[string]bool{}}
	for info := range keys {
		public, err := x509.ParsePKIXPublicKey([]byte(info))
		if err != nil {
			return nil, fmt.Errorf("read a public key: %w", err)
		}
		r.old[info], r.named[keyID([]byte(info))] = public, info
		fresh, err := x509.MarshalPKIXPublicKey(keys[info].Public())
		if err != nil {
			return nil, fmt.Errorf("encode a public key: %w", err)
		}
		r.made[keyID(fresh)] = true
	}
	return r, nil
}

// isNewKey reports whether the key is one of the new ones.
func (r *resigner) isNewKey(key crypto.Signer) bool {
	info, err := x509.MarshalPKIXPublicKey(key.Public())
	return err == nil && r.made[keyID(info)]
}

// keyID is how kube-apiserver names a key in tokens.
func keyID(info []byte) string {
	sum := sha256.Sum256(info)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// replaceToken is what takes a token's place.
func (r *resigner) replaceToken(t inspect.Token) (string, bool) {
	info, ok := r.findSigner(t)
	if !ok {
		return t.Voided(), !r.isFresh(t)
	}
	key, name := r.fresh[info], t.KeyID
	if _, hashed := r.named[t.KeyID]; hashed {
		public, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			return t.Voided(), true
		}
		name = keyID(public)
	}
	text, err := t.SignAgain(key, name)
	if err != nil {
		return t.Voided(), true
	}
	return text, true
}

// isFresh reports whether an interrupted run signed the token.
func (r *resigner) isFresh(t inspect.Token) bool {
	for _, key := range r.fresh {
		if t.SignedWith(key.Public()) {
			return true
		}
	}
	return false
}

// findSigner is the old key that signed the token.
func (r *resigner) findSigner(t inspect.Token) (info string, ok bool) {
	if info, ok := r.named[t.KeyID]; ok && t.SignedWith(r.old[info]) {
		return info, true
	}
	for info, key := range r.old {
		if t.SignedWith(key) {
			return info, true
		}
	}
	return "", false
}
