package inspect

import (
	"crypto"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// MayHoldCredentials is a cheap look for what new_keys replaces beside PEM: tokens, credentials of registries, keys of other kinds.
func MayHoldCredentials(text string) bool {
	return strings.Contains(text, tokenPrefix) || strings.Contains(text, `"auth`) || strings.Contains(text, "PRIVATE KEY") ||
		wire.MayHoldDataURL(text) || wire.IsCompressed(text)
}

// EditTokens replaces the tokens of a text, also within the credentials of registries.
func EditTokens(text string, change func(Token) (string, bool)) string {
	out := editTokens(text, change)
	out = registryAuth.ReplaceAllStringFunc(out, func(entry string) string {
		digits := registryAuth.FindStringSubmatch(entry)[1]
		plain, err := base64.StdEncoding.DecodeString(digits)
		if err != nil {
			return entry
		}
		edited := editTokens(string(plain), change)
		if edited == string(plain) {
			return entry
		}
		return strings.Replace(entry, digits, base64.StdEncoding.EncodeToString([]byte(edited)), 1)
	})
	return out
}

func editTokens(text string, change func(Token) (string, bool)) string {
	if !strings.Contains(text, tokenPrefix) {
		return text
	}
	var edits []wire.Edit
	for _, at := range tokenText.FindAllStringSubmatchIndex(text, -1) {
		for _, t := range tokensIn(text[at[2]:at[3]], "") {
			if fresh, ok := change(t); ok && !strings.HasPrefix(text[at[3]:], ".") {
				edits = append(edits, wire.Edit{Start: at[2], End: at[3], Text: fresh})
			}
		}
	}
	return wire.Splice(text, edits)
}

// SignedWith reports whether the token was signed with the key.
func (t Token) SignedWith(key crypto.PublicKey) bool { return provedBy(t, key) }

// SignAgain signs the token's content with another key, under that key's name.
func (t Token) SignAgain(key crypto.Signer, keyID string) (string, error) {
	header := t.signed.Signatures[0].Protected
	options := &jose.SignerOptions{ExtraHeaders: header.ExtraHeaders}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(t.Algorithm),
		Key: jose.JSONWebKey{Key: key, KeyID: keyID}}, options)
	if err != nil {
		return "", fmt.Errorf("make a signer: %w", err)
	}
	signed, err := signer.Sign(t.signed.UnsafePayloadWithoutVerification())
	if err != nil {
		return "", fmt.Errorf("sign the token: %w", err)
	}
	return signed.CompactSerialize()
}

// Voided is the token without a signature that anything accepts.
func (t Token) Voided() string {
	parts := strings.Split(t.text, ".")
	return parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2]))
}
