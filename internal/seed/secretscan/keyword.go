package secretscan

import (
	"crypto/x509"
	"encoding/base64"
	"math"
	"regexp"
	"strings"
)

// keywordStems are in every name that the rule looks for.
var keywordStems = []string{"passw", "passphrase", "secret", "token", "apikey", "api_key", "api-key", "accesskey", "access_key",
	"access-key", "privatekey", "private_key", "credential", "authtok", "community", "encryptionkey", "encryption_key", "encryption-key"}

// A name is strong where its value is a secret however short it is, and weak where values are often names or references.
var (
	strongName = regexp.MustCompile(`(?i)(?:passw(?:or)?d|passwd|passphrase|authtok|^pass|_pass|\bpass|^psk)\d*$`)
	weakName   = regexp.MustCompile(`(?i)(?:` +
		`secret|token|api[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]?key|` +
		`credentials?|encryption[_-]?key|auth[_-]?key|` +
		`license[_-]?key|signing[_-]?key|cookie[_-]?secret|` +
		`client[_-]?secret|secret[_-]?key)\d*$`)
	// notSecret are names that end like one and hold something else.
	notSecret = regexp.MustCompile(`(?i)(?:page|next|continue|sync|public)[_-]?(?:token|key|credentials?)$`)
)

// assignment is a line "name: value" or "name = value", or a field of JSON; also with escaped quotes.
var assignment = regexp.MustCompile(`(?m)` +
	`(?:^[ \t]*(?:export[ \t]+|-[ \t]+)?|[{,;?&\s]|\\n|--)(\\*["']?)([A-Za-z][\w.-]{0,80})(\\*["']?)[ \t]*(?:[:=]|:=)[ \t]*` +
	`(?:(\\*")([^"\\\n]*)(\\*")|(')([^'\n]*)'|([^\s"'\\,;&{}\[\]|<>` + "`" + `]+))`)

// findKeywords finds values that are named like a secret.
func findKeywords(text string) (out []span) {
	for _, at := range assignment.FindAllStringSubmatchIndex(text, -1) {
		name := text[at[4]:at[5]]
		value := span{}
		for _, g := range []int{10, 16, 18} {
			if at[g] >= 0 {
				value = span{at[g], at[g+1]}
			}
		}
		bare := at[18] >= 0
		if value.end <= value.start || bare && !endsLine(text, value.end) {
			continue
		}
		if namesSecret(name, text[value.start:value.end], leastInText) {
			out = append(out, value)
		}
	}
	return out
}

// endsLine reports whether nothing follows but a comment, or another field: in prose a word follows.
func endsLine(text string, at int) bool {
	rest := strings.TrimLeft(text[at:min(at+64, len(text))], " \t")
	return rest == "" || strings.HasPrefix(rest, `\n`) || strings.HasPrefix(rest, `\r`) || strings.IndexByte("\r\n#,;}&'\"", rest[0]) >= 0
}

// How long a value is at least that is taken for a password: in a text, and in a field of its own.
const (
	leastInText  = 6
	leastInField = 3
)

// namesSecret reports whether a name and its value are those of a secret.
func namesSecret(name, value string, least int) bool {
	value = strings.TrimSpace(value)
	if len(value) < least || isReference(value) || isPlaceholder(value) || notSecret.MatchString(name) {
		return false
	}
	switch {
	case strongName.MatchString(name):
		return !strings.ContainsAny(value, " \t\n") || len(value) < 64
	case weakName.MatchString(name):
		return looksRandom(value) || uuidShape.MatchString(value)
	}
	return false
}

var (
	reference = regexp.MustCompile(`^(?:[/~.]|\$|%[A-Za-z{(]|` +
		`\{\{|<|@|&|\*$|data:|file:|https?://[^@]*$|system:|-----BEGIN|\(|\[|valueFrom|secretKeyRef)`)
	literals = regexp.MustCompile(`(?i)^(?:` +
		`true|false|yes|no|on|off|none|null|nil|[-+]?[0-9.]+[a-z]{0,2}|0x[0-9a-f]{1,8}|x+|\*+|!+\*?|-+|` +
		`required|optional|requisite|sufficient|include|substack|string|` +
		`boolean|object|integer|files|sss|compat|prompt|enabled|disabled|default|basic|bearer|plain)$`)
	placeholder = regexp.MustCompile(`(?i)^(?:` + Placeholder + `|placeholder|change-?_?me\d*|example.*|` +
		`your[-_ ].*|my[-_]?(?:password|secret|token)|redacted|dummy|fake|sample|todo|` +
		`(?:user)?pass(?:word|wd)?|secret|token|username|insert.*|replace.*|s?ecret-?here|foo|bar|xxx.*|test)$`)
)

// isReference reports whether a value says where a secret is, and is none itself.
func isReference(value string) bool {
	return reference.MatchString(value) || literals.MatchString(value) ||
		strings.Contains(value, "${") || strings.Contains(value, "$(") || strings.Contains(value, "{{")
}

func isPlaceholder(value string) bool { return placeholder.MatchString(strings.Trim(value, `"'`)) }

// words is a name of several words, as objects have.
var (
	wordsShape = regexp.MustCompile(`^[A-Za-z][a-z]*(?:[-_./ :][a-z0-9]+)*$|^[A-Z]?[a-z]+(?:[A-Z][a-z]+)*$|^[A-Z]+(?:_[A-Z]+)*$`)
	tokenChars = regexp.MustCompile(`^[A-Za-z0-9+/=_.~!@#%^&*:-]+$`)
	hexDigits  = regexp.MustCompile(`^[0-9a-fA-F]{24,}$`)
	uuidShape  = regexp.MustCompile(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// Bounds of what is taken for random: bits for each character, and characters.
const (
	randomBits = 3.2
	randomLen  = 16
	randomMax  = 4096
)

// looksRandom reports whether a value was drawn, not written.
func looksRandom(value string) bool {
	if len(value) < randomLen || len(value) > randomMax || !tokenChars.MatchString(value) || wordsShape.MatchString(value) {
		return false
	}
	if uuidShape.MatchString(value) || isPublic(value) || isCleaned(value) {
		return false
	}
	if hexDigits.MatchString(value) {
		return entropy(value) >= 2.8
	}
	return countCharClasses(value) >= 2 && entropy(value) >= randomBits
}

// isCleaned recognises what an earlier run left in the place of a secret.
func isCleaned(value string) bool {
	return strings.Contains(value, "!*") || strings.Contains(value, dots) ||
		strings.Contains(value, "laceholder") || strings.Contains(value, Placeholder)
}

// isPublic recognises tokens, which have a rule of their own, digests, and certificates.
func isPublic(value string) bool {
	if strings.HasPrefix(value, "eyJ") || strings.HasPrefix(value, "sha256:") || strings.HasPrefix(value, "AAAA") {
		return true
	}
	if !strings.HasPrefix(value, "MII") {
		return false
	}
	der, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return false
	}
	_, err = x509.ParseCertificate(der)
	return err == nil
}

// countCharClasses counts the classes of characters that a value has.
func countCharClasses(value string) int {
	var lower, upper, digit int
	for i := range len(value) {
		switch b := value[i]; {
		case b >= 'a' && b <= 'z':
			lower = 1
		case b >= 'A' && b <= 'Z':
			upper = 1
		case b >= '0' && b <= '9':
			digit = 1
		}
	}
	return lower + upper + digit
}

// entropy is Shannon's, in bits for each byte.
func entropy(value string) float64 {
	var counts [256]int
	for i := range len(value) {
		counts[value[i]]++
	}
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(value))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
