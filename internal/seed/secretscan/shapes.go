package secretscan

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
)

var tokenShape = regexp.MustCompile(`eyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]{8,}`)

// findTokens finds signed tokens, but for those without a signature that anything accepts.
func findTokens(text string) (out []span) {
	for _, at := range tokenShape.FindAllStringIndex(text, -1) {
		token := text[at[0]:at[1]]
		if at[0] > 0 && isTokenByte(text[at[0]-1]) || voidSignature(token) == token {
			continue
		}
		head, err := base64.RawURLEncoding.DecodeString(token[:strings.IndexByte(token, '.')])
		if err == nil && strings.Contains(string(head), `"alg"`) {
			out = append(out, span{at[0], at[1]})
		}
	}
	return out
}

func isTokenByte(b byte) bool {
	return b == '.' || b == '-' || b == '_' || b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}

// voidSignature is a token without its signature, as recert leaves those that no key of the cluster signed.
func voidSignature(token string) string {
	end := strings.LastIndexByte(token, '.')
	return token[:end+1] + strings.Repeat("A", len(token)-end-1)
}

var loginShape = regexp.MustCompile(`\\*"(auth|identitytoken|registrytoken|password)\\*"\s*:\s*\\*"([^"\\]+)\\*"`)

// placeholderAuth is that of the placeholder of a pull secret.
const placeholderAuth = "cGxhY2Vob2xkZXI6cGxhY2Vob2xkZXI="

// registryLogins finds the credentials of a containers auth.json or a dockercfg. A token in one is found by itself.
func registryLogins(text string) (out []span) {
	whole := strings.Contains(text, `auths`) && loginsOf.MatchString(text)
	if !whole && !strings.Contains(text, `"auth`) && !strings.Contains(text, `auth\"`) {
		return nil
	}
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
		if plain == "" || plain == "placeholder" || strings.HasPrefix(plain, "eyJ") ||
			isReference(plain) || isPlaceholder(plain) {
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

var hashShape = regexp.MustCompile(`\$(?:1|5|6|7|y|gy|2[abxy]?|apr1|argon2(?:id|i|d)|scrypt|pbkdf2[\w-]*)\$[./A-Za-z0-9=,$+-]{20,}|` +
	`\{(?i:S?SHA(?:256|384|512)?|S?MD5|PBKDF2[\w-]*|CRYPT)\}[./A-Za-z0-9=,$+-]{20,}`)

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

// urlLogins finds the passwords of URLs.
func urlLogins(text string) (out []span) {
	const colon = "://"
	for from := 0; ; {
		at := strings.Index(text[from:], colon)
		if at < 0 {
			return out
		}
		from += at + len(colon)
		end := from
		for end < len(text) && strings.IndexByte(" \t\r\n/\"'<>\\`,", text[end]) < 0 {
			end++
		}
		login := strings.LastIndexByte(text[from:end], '@')
		if login < 0 {
			continue
		}
		begin := strings.IndexByte(text[from:from+login], ':') + 1
		value := text[from+begin : from+login]
		if begin > 0 && value != "" && !isReference(value) && !isPlaceholder(value) {
			out = append(out, span{from + begin, from + login})
		}
	}
}

// privateBlocks finds private keys in PEM, also with escaped ends of lines.
func privateBlocks(text string) (out []span) {
	for from := 0; ; {
		at := strings.Index(text[from:], armor)
		if at < 0 {
			return out
		}
		start := from + at
		from = start + len(armor)
		label, _, ok := strings.Cut(text[from:min(len(text), from+80)], "-----")
		if !ok || !strings.Contains(label, "PRIVATE KEY") {
			continue
		}
		end := strings.Index(text[from:], "-----END ")
		if end < 0 {
			continue
		}
		end += from + len("-----END ")
		if closing := strings.Index(text[end:min(len(text), end+80)], "-----"); closing >= 0 {
			end += closing + len("-----")
		}
		out = append(out, span{start, end})
		from = end
	}
}

var (
	networkShape = regexp.MustCompile(`(?im)^[ \t]*(?:psk|sae_password|wep-key[0-3]|wep_key[0-3]|` +
		`leap-password|private-key-password|private_key_passwd|phase2-private-key-password|` +
		`ca-cert-password|wpa_psk(?:_passphrase)?|key_passphrase[0-9]?|ieee_8021x_password|` +
		`wpa_passphrase|mka-cak)` +
		`[ \t]*=[ \t]*["']?([^\s"'#][^\n"']*?)["']?[ \t]*\r?$`)
	inKeyfile = regexp.MustCompile(`(?m)^[ \t]*(?:password|pin|secret|Xauth password|cert-pass)` +
		`[ \t]*=[ \t]*["']?([^\s"'][^\n"']*?)["']?[ \t]*\r?$`)
)

// sections are of files in which a password is one of a network.
var sections = []string{"[connection]", "[802-1x]", "[wifi-security]", "[vpn-secrets]", "[gsm]", "[pppoe]", "network={"}

var networkHints = []string{"psk", "sae_password", "wep-key", "wep_key", "leap-password", "private-key-password", "private_key_passwd",
	"wpa_pass",
	"ca-cert-password", "key_passphrase", "ieee_8021x_password", "mka-cak"}

var networkNames = newHintIndex([]Rule{{hints: networkHints}})

// networkSecrets finds those of NetworkManager's keyfiles, of wpa_supplicant and of ifcfg files.
func networkSecrets(text string) (out []span) {
	add := func(re *regexp.Regexp, part string, from int) {
		for _, at := range re.FindAllStringSubmatchIndex(part, -1) {
			if value := part[at[2]:at[3]]; !isReference(value) && !isPlaceholder(value) {
				out = append(out, span{from + at[2], from + at[3]})
			}
		}
	}
	if named := networkNames.findHints(text); named != nil {
		visitNear(text, named[0], func(part string, at int) { add(networkShape, part, at) })
	}
	if slices.ContainsFunc(sections, func(s string) bool { return strings.Contains(text, s) }) {
		add(inKeyfile, text, 0)
	}
	return out
}
