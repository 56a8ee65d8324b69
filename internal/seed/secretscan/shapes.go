package secretscan

import (
	"encoding/base64"
	"regexp"
	"strings"
)

var tokenShape = regexp.MustCompile(`eyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]{8,}`)

// tokens finds signed tokens, but for those without a signature that anything accepts.
func tokens(text string) (out []span) {
	for _, at := range tokenShape.FindAllStringIndex(text, -1) {
		token := text[at[0]:at[1]]
		if at[0] > 0 && isTokenByte(text[at[0]-1]) || voided(token) == token {
			continue
		}
		if head, err := base64.RawURLEncoding.DecodeString(token[:strings.IndexByte(token, '.')]); err == nil && strings.Contains(string(head), `"alg"`) {
			out = append(out, span{at[0], at[1]})
		}
	}
	return out
}

func isTokenByte(b byte) bool {
	return b == '.' || b == '-' || b == '_' || b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}

// voided is a token without its signature, as recert leaves those that no key of the cluster signed.
func voided(token string) string {
	end := strings.LastIndexByte(token, '.')
	return token[:end+1] + strings.Repeat("A", len(token)-end-1)
}

var loginShape = regexp.MustCompile(`\\*"(auth|identitytoken|registrytoken|password)\\*"\s*:\s*\\*"([^"\\]+)\\*"`)

// placeholderAuth is that of the placeholder of a pull secret.
const placeholderAuth = "cGxhY2Vob2xkZXI6cGxhY2Vob2xkZXI="

// registryLogins finds the credentials of a containers auth.json or a dockercfg. A token in one is found by itself.
func registryLogins(text string) (out []span) {
	whole := strings.Contains(text, `auths`) && loginsOf.MatchString(text)
	for _, at := range loginShape.FindAllStringSubmatchIndex(text, -1) {
		field, value := text[at[2]:at[3]], text[at[4]:at[5]]
		plain := value
		if field == "auth" {
			decoded, err := base64.StdEncoding.DecodeString(value)
			user, password, ok := strings.Cut(string(decoded), ":")
			if err != nil || !ok || !isText(user) {
				continue
			}
			plain = password
		} else if !whole {
			continue
		}
		if plain == "" || plain == "placeholder" || strings.HasPrefix(plain, "eyJ") || refers(plain) || isPlaceholder(plain) {
			continue
		}
		out = append(out, span{at[4], at[5]})
	}
	return out
}

var loginsOf = regexp.MustCompile(`\\*"auths\\*"\s*:`)

func placeholderLogin(value string) string {
	if decoded, err := base64.StdEncoding.DecodeString(value); err == nil && strings.Contains(string(decoded), ":") {
		return placeholderAuth
	}
	return "placeholder"
}

var hashShape = regexp.MustCompile(`\$(?:1|5|6|7|y|gy|2[abxy]?|apr1|argon2(?:id|i|d)|scrypt|pbkdf2[\w-]*)\$[./A-Za-z0-9=,$+-]{20,}|\{(?i:S?SHA(?:256|384|512)?|S?MD5|PBKDF2[\w-]*|CRYPT)\}[./A-Za-z0-9=,$+-]{20,}`)

// locked is a bcrypt hash that no password has; dots are what recert leaves.
const (
	locked = "$2a$10$" + "....................................................."
	dots   = "...................."
)

func passwordHashes(text string) (out []span) {
	for _, at := range hashShape.FindAllStringIndex(text, -1) {
		if !strings.Contains(text[at[0]:at[1]], dots) {
			out = append(out, span{at[0], at[1]})
		}
	}
	return out
}

// lockedHash keeps what reads hashes working: no password has it.
func lockedHash(value string) string {
	if strings.HasPrefix(value, "$2") {
		return locked
	}
	return "!*"
}

var urlShape = regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@"'<>\\]*:([^\s/@"'<>\\]+)@[\w.\[-]`)

// urlLogins finds the passwords of URLs.
func urlLogins(text string) (out []span) {
	for _, at := range urlShape.FindAllStringSubmatchIndex(text, -1) {
		if value := text[at[2]:at[3]]; !refers(value) && !isPlaceholder(value) {
			out = append(out, span{at[2], at[3]})
		}
	}
	return out
}

var (
	networkShape = regexp.MustCompile(`(?im)^[ \t]*(?:psk|sae_password|wep-key[0-3]|wep_key[0-3]|leap-password|private-key-password|private_key_passwd|phase2-private-key-password|ca-cert-password|wpa_psk(?:_passphrase)?|key_passphrase[0-9]?|ieee_8021x_password|wpa_passphrase|mka-cak)[ \t]*=[ \t]*["']?([^\s"'#][^\n"']*?)["']?[ \t]*\r?$`)
	keyfileShape = regexp.MustCompile(`(?m)^\[(?:connection|802-1x|wifi-security|vpn-secrets|gsm|pppoe|network)\]|^network=\{`)
	inKeyfile    = regexp.MustCompile(`(?m)^[ \t]*(?:password|pin|secret|Xauth password|cert-pass)[ \t]*=[ \t]*["']?([^\s"'][^\n"']*?)["']?[ \t]*\r?$`)
)

// networkSecrets finds those of NetworkManager's keyfiles, of wpa_supplicant and of ifcfg files.
func networkSecrets(text string) (out []span) {
	add := func(re *regexp.Regexp) {
		for _, at := range re.FindAllStringSubmatchIndex(text, -1) {
			if value := text[at[2]:at[3]]; !refers(value) && !isPlaceholder(value) {
				out = append(out, span{at[2], at[3]})
			}
		}
	}
	add(networkShape)
	if keyfileShape.MatchString(text) {
		add(inKeyfile)
	}
	return out
}
