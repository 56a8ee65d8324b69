package recert

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// Token is a signed token (RFC 7519), such as a service account's. It is found and left as it is: no key that signs
// tokens changes.
type Token struct {
	Algorithm string `json:"algorithm"`
	// KeyID is the "kid" of its header: which key of the issuer signed it.
	KeyID string `json:"keyID,omitempty"`
	Place string `json:"place"`
}

// tokenPrefix is how a header begins that is a JSON object of strings.
const tokenPrefix = "eyJ"

// tokenIn reads the header of a text that is a token and nothing else.
func tokenIn(text, place string) (Token, bool) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, tokenPrefix) || strings.Count(text, ".") != 2 || strings.ContainsAny(text, " \n") {
		return Token{}, false
	}
	head, _, _ := strings.Cut(text, ".")
	plain, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		return Token{}, false
	}
	var header struct{ Alg, Kid string }
	if err := json.Unmarshal(plain, &header); err != nil || header.Alg == "" {
		return Token{}, false
	}
	return Token{header.Alg, header.Kid, place}, true
}

// collectToken notes a token, for an inventory.
func (s *scan) collectToken(where func() string, text string) {
	if !s.pki.all || !strings.HasPrefix(text, tokenPrefix) {
		return
	}
	if t, ok := tokenIn(text, where()); ok {
		s.tokens = append(s.tokens, t)
	}
}
