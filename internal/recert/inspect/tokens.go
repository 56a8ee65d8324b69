package inspect

import (
	"crypto"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// Token is a signed token (RFC 7519), such as a service account's. It is found and left as it is: no key that signs
// tokens changes.
type Token struct {
	Algorithm string `json:"algorithm"`
	// KeyID is the "kid" of its header: which key of the issuer signed it.
	KeyID string `json:"keyID,omitempty"`
	// SignedBy is the fingerprint of the key that its signature is proved with; empty if that is not in the cluster.
	SignedBy string `json:"signedBy,omitempty"`
	Place    string `json:"place"`

	signed *jose.JSONWebSignature
	text   string
}

// tokenText is a token in compact serialization (RFC 7515 7.1), as it stands in a field by itself, in a kubeconfig or in a registry's
// credentials. Its header is a JSON object, which begins so.
var tokenText = regexp.MustCompile(`(?:^|[^\w.-])(eyJ[\w-]*\.[\w-]+\.[\w-]+)`)

const tokenPrefix = "eyJ"

// tokenAlgorithms are all that are registered for signatures (RFC 7518 3.1, RFC 8037 3.1): what is only listed need not be safe.
func tokenAlgorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
		jose.ES256, jose.ES384, jose.ES512, jose.EdDSA, jose.HS256, jose.HS384, jose.HS512}
}

// tokensIn finds the tokens of a text.
func tokensIn(text, place string) []Token {
	var out []Token
	for _, at := range tokenText.FindAllStringSubmatchIndex(text, -1) {
		if strings.HasPrefix(text[at[3]:], ".") {
			continue // of five parts, so encrypted
		}
		signed, err := jose.ParseSignedCompact(text[at[2]:at[3]], tokenAlgorithms())
		if err != nil {
			continue
		}
		header := signed.Signatures[0].Header
		out = append(out, Token{Algorithm: header.Algorithm, KeyID: header.KeyID, Place: place, signed: signed, text: text[at[2]:at[3]]})
	}
	return out
}

// registryAuth is where a registry's credentials hold user and password in base64 (containers-auth.json(5)).
var registryAuth = regexp.MustCompile(`"auth"\s*:\s*"([A-Za-z0-9+/=]+)"`)

// registryAuths decodes the credentials of a text.
func registryAuths(text string) []string {
	var out []string
	for _, m := range registryAuth.FindAllStringSubmatch(text, -1) {
		if plain, err := base64.StdEncoding.DecodeString(m[1]); err == nil {
			out = append(out, string(plain))
		}
	}
	return out
}

// collectTokens notes the tokens of a text, of the files that it carries and of the credentials in it, for an inventory.
func (s *Survey) collectTokens(where func() string, text string) {
	if !s.wantTokens {
		return
	}
	parts := []string{text}
	for _, carried := range wire.DataURLs(text) {
		parts = append(parts, carried.Content)
	}
	for _, part := range append(parts, registryAuths(text)...) {
		if strings.Contains(part, tokenPrefix) {
			s.tokens = append(s.tokens, tokensIn(part, where())...)
		}
	}
}

// proof says whether the token was signed with the key.
type proof func(Token, crypto.PublicKey) bool

// resolveTokens says which of the cluster's keys signed each token. Tokens that name the same key have the same answer.
func (s *Survey) resolveTokens(proved proof) {
	keys, order := s.PKI.PublicKeys()
	type naming struct{ algorithm, keyID string }
	answers := map[naming]string{}
	for i, token := range s.tokens {
		name := naming{token.Algorithm, token.KeyID}
		by, known := answers[name]
		if !known || by != "" && !proved(token, keys[by]) {
			by = proved.findKey(token, keys, order)
		}
		s.tokens[i].SignedBy = by
		if token.KeyID != "" {
			answers[name] = by
		}
	}
}

// findKey tries the key that a token names before all others.
func (proved proof) findKey(token Token, keys map[string]crypto.PublicKey, order []string) string {
	for _, print := range append([]string{namedKey(token.KeyID)}, order...) {
		if key, ok := keys[print]; ok && proved(token, key) {
			return print
		}
	}
	return ""
}

// namedKey is the fingerprint of the key that a token of kube-apiserver names: its "kid" is the same hash, in base64.
func namedKey(keyID string) string {
	sum, err := base64.RawURLEncoding.DecodeString(keyID)
	if err != nil {
		return ""
	}
	return hex.EncodeToString(sum)
}

func provedBy(t Token, key crypto.PublicKey) bool {
	kind := certs.KeyAlgorithm(key)
	switch family := t.Algorithm[:2]; family {
	case "RS", "PS":
		return kind == "RSA" && isVerifiedBy(t, key)
	case "ES":
		return kind == "ECDSA" && isVerifiedBy(t, key)
	case "Ed":
		return kind == "Ed25519" && isVerifiedBy(t, key)
	default: // of a shared secret
		return false
	}
}

func isVerifiedBy(t Token, key crypto.PublicKey) bool {
	_, err := t.signed.Verify(key)
	return err == nil
}
