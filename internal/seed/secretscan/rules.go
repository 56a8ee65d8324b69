package secretscan

import (
	"regexp"
	"slices"
)

// Decision is what becomes of a secret that was found.
type Decision string

// Decisions.
const (
	// Removed: a placeholder takes its place, or the file or object is removed.
	Removed Decision = "removed"
	// Renewed: another one was made for the image; the seed does not have it.
	Renewed Decision = "renewed"
	// Kept: it ships on purpose; the reason says why.
	Kept Decision = "kept"
	// Allowed: the user decided that it ships.
	Allowed Decision = "allowed"
	// Refused: neither removing nor shipping it is safe without a decision, so the image is not published.
	Refused Decision = "refused"
)

// Placeholder takes the place of a value that was removed.
const Placeholder = "removed-from-the-seed-image"

// Rule is one kind of secret.
type Rule struct {
	// Name is stable: reports and users refer to it. What says in words what was found.
	Name, What string
	// Decision is Removed or Refused.
	Decision Decision
	// renewable: recert makes others, so one that the seed did not have may ship.
	renewable bool
	// hints are texts of which one is in whatever the rule finds, in lower case.
	hints []string
	find  func(text string) []span
	// wide: find needs all of the text, else it gets the parts around the hints.
	wide bool
	// put makes the text that takes the place of a value; nil is the placeholder.
	put func(value string) string
}

// span is a value within a text.
type span struct{ start, end int }

// Names of rules that other code refers to.
const (
	ruleKeyword  = "keyword"
	ruleOpaque   = "opaque-value"
	ruleHelm     = "helm-release"
	ruleKeyStore = "key-store"
	ruleDER      = "private-key-der"
	rulePath     = "path"
)

// textRules are the rules about parts of a text; more special ones come first. The last rule goes by key words.
func textRules() []Rule {
	return slices.Concat(keyRules(), tokenRules(), loginRules(), []Rule{
		{Name: ruleKeyword, What: "a value that is named like a secret", Decision: Refused, hints: keywordStems, find: findKeywords},
	})
}

// keyRules find keys.
func keyRules() []Rule {
	return []Rule{
		{Name: "private-key", What: "a private key in PEM", Decision: Removed, renewable: true, hints: []string{"private key"},
			find: privateBlocks, wide: true, put: emptyValue},
		{Name: "secret-key-text", What: "a secret key in a text form of its own", Decision: Removed,
			hints: []string{"putty-user-key-file", "age-secret-key-", "static key v1", "secret key", "ssh2 encrypted"},
			put:   emptyValue, wide: true,
			find: findWhole(`(?s)PuTTY-User-Key-File-\d:.*?Private-MAC: [0-9a-f]+|AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{50,}|` +
				`-----BEGIN OpenVPN Static key V1-----.*?-----END OpenVPN Static key V1-----|` +
				`untrusted comment: [^\n]*secret key[^\n]*\n[A-Za-z0-9+/=]{100,}`)},
		{Name: "json-web-key", What: "a private JSON Web Key", Decision: Removed, wide: true, hints: []string{`kty`},
			find: findGroups(`\{[^{}]*\\*"kty\\*"[^{}]*\}`, `\\*"(?:d|k|p|q|dp|dq|qi)\\*"\s*:\s*\\*"([\w-]{16,})\\*"`)},
	}
}

// tokenRules find tokens, hashes and keys that are known by their form.
func tokenRules() []Rule {
	return []Rule{
		{Name: "token-signed", What: "a signed token (JWT)", Decision: Removed, renewable: true, hints: []string{"eyj"},
			find: findTokens, put: voidSignature},
		{Name: "registry-login", What: "credentials of a registry", Decision: Removed,
			hints: []string{"auth", "identitytoken", "registrytoken"},
			find:  registryLogins, wide: true, put: placeholderLogin},
		{Name: "password-hash", What: "the hash of a password", Decision: Removed, hints: hashHints,
			find: passwordHashes, put: lockedHash},
		{Name: "token-openshift", What: "an access token of OpenShift", Decision: Removed, hints: []string{"sha256~"},
			find: findWhole(`sha256~[\w-]{40,}`)},
		{Name: "token-bootstrap", What: "a bootstrap token", Decision: Removed, hints: []string{"token"},
			find: findFirst(`(?i)token\\*["']?\s*[:=]\s*\\*["']?([a-z0-9]{6}\.[a-z0-9]{16})\b`)},
		{Name: "token-forge", What: "an access token of a code forge or a package registry", Decision: Removed,
			hints: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-",
				"glft-", "glsoat-",
				"glagent-", "glimt-", "gloas-", "npm_", "pypi-", "dckr_pat_", "dckr_oat_", "atatt3x", "rubygems_"},
			find: findWhole(`\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{40,}|gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|oas)-[\w-]{20,}|` +
				`npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,}|dckr_[po]at_[\w-]{20,}|ATATT3x[\w=-]{50,}|rubygems_[0-9a-f]{48})`)},
		{Name: "token-chat", What: "an access token or hook of a chat service", Decision: Removed,
			hints: []string{"xox", "xapp-", "hooks.slack.com", "/api/webhooks/"},
			find: findWhole(`\bxox[abeoprs]-[\w-]{10,}|\bxapp-\d-[\w-]{20,}|` +
				`hooks\.slack\.com/(?:services|workflows)/[\w/-]{20,}|/api/webhooks/\d{15,}/[\w-]{50,}`)},
		{Name: "key-cloud", What: "a key of a cloud", Decision: Removed,
			hints: []string{"akia", "asia", "aiza", "ya29.", "gocspx-", "accountkey=", "sharedaccesskey=", "8q~",
				"dop_v1_", "ltai"},
			find: findWhole(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{35}|\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}|` +
				`(?:Account|SharedAccess)Key=[A-Za-z0-9+/]{40,}={0,2}|` +
				`\b[\w~.]{3}8Q~[\w~.-]{31,34}|\bdop_v1_[0-9a-f]{64}|\bLTAI[A-Za-z0-9]{16,}`)},
		{Name: "token-service", What: "an access token of a service", Decision: Removed,
			hints: []string{"hvs.", "hvb.", "sk_live_", "rk_live_", "sk-ant-", "sk-proj-", "sk-svcacct-", "sg.",
				"tskey-", "glsa_", "shpat_", "hf_", "dapi", "pmak-", "lin_api_"},
			find: findWhole(`\b(?:hv[sb]\.[\w-]{24,}|[sr]k_live_[A-Za-z0-9]{20,}|` +
				`sk-(?:ant|proj|svcacct)-[\w-]{20,}|SG\.[\w-]{20,}\.[\w-]{20,}|` +
				`tskey-[a-z]+-[\w-]{15,}|glsa_\w{32,}|shpat_[0-9a-f]{32}|hf_[A-Za-z0-9]{30,}|dapi[0-9a-f]{32}|` +
				`PMAK-[0-9a-f]{24}-[0-9a-f]{34}|lin_api_[A-Za-z0-9]{40})`)},
	}
}

// loginRules find passwords and keys by what is around them.
func loginRules() []Rule {
	return []Rule{
		{Name: "login-in-url", What: "a password within a URL", Decision: Removed, hints: []string{"://"},
			find: urlLogins, wide: true, put: literalValue("placeholder")},
		{Name: "login-in-header", What: "credentials of an HTTP header", Decision: Removed, hints: []string{"authorization"},
			find: findFirst(`(?i)authorization\\*["']?\s*[:=]\s*\\*["']?(?:basic|bearer|token)\s+([A-Za-z0-9+/=._~-]{12,})`)},
		{Name: "login-in-netrc", What: "a password of a netrc file", Decision: Removed, hints: []string{"machine"},
			find: findFirst(`(?s)\bmachine\s+\S+\s+login\s+\S+\s+password\s+(\S+)`)},
		{Name: "wireguard-key", What: "a key of WireGuard", Decision: Removed,
			hints: []string{"privatekey", "private-key", "presharedkey", "preshared-key"},
			find:  findFirst(`(?im)^\s*(?:private|preshared)-?key\s*=\s*([A-Za-z0-9+/]{43}=)`)},
		{Name: "ipsec-secret", What: "a secret of IPsec", Decision: Removed, hints: []string{"psk", "xauth", "eap"},
			find: findFirst(`(?m)(?:^|\s|:)(?:PSK|XAUTH|EAP|NTLM)\s+\\*("[^"\n]+"|0s[A-Za-z0-9+/=]+|0x[0-9A-Fa-f]+)`),
			put:  literalValue(`"` + Placeholder + `"`)},
		{Name: "network-secret", What: "a secret of a network connection", Decision: Removed,
			hints: []string{"psk", "password", "passwd", "passphrase", "wep", "mka-cak",
				"cert-pass", "[connection]", "[802-1x]", "[wifi-security]", "[vpn-secrets]", "[gsm]", "[pppoe]", "[network]", "network={"},
			find: networkSecrets, wide: true},
		{Name: "dns-key", What: "a key of a name server", Decision: Removed, hints: []string{"secret"},
			find: findFirst(`(?m)\bsecret\s+"([A-Za-z0-9+/]{20,}={0,2})"\s*;`)},
		{Name: "iscsi-chap", What: "a password of iSCSI", Decision: Removed, hints: []string{"auth.password"},
			find: findFirst(`(?m)^\s*(?:node\.session|discovery\.sendtargets)\.auth\.password(?:_in)?\s*=\s*(\S+)`)},
	}
}

var hashHints = []string{"$1$", "$5$", "$6$", "$7$", "$y$", "$gy$", "$2", "$apr1$", "$argon2", "$scrypt$", "$pbkdf2",
	"{ssha", "{sha", "{smd5", "{md5",
	"{pbkdf2", "{crypt"}

// wholeRules are those about a value, a file or an object as a whole.
func wholeRules() []Rule {
	return []Rule{
		{Name: ruleDER, What: "a private key in DER", Decision: Removed, renewable: true},
		{Name: ruleKeyStore, What: "a key store (PKCS#12, JKS, keytab, NSS, KeePass)", Decision: Removed},
		{Name: ruleHelm, What: "a Helm release with Secrets in it", Decision: Removed},
		{Name: ruleOpaque, What: "a random value in a Secret", Decision: Refused},
		{Name: rulePath, What: "a file that is secret, or the seed machine's alone, by its place", Decision: Removed},
	}
}

func findWhole(pattern string) func(string) []span {
	re := regexp.MustCompile(pattern)
	return func(text string) (out []span) {
		for _, at := range re.FindAllStringIndex(text, -1) {
			out = append(out, span{at[0], at[1]})
		}
		return out
	}
}

// findFirst finds the first group of a pattern, unless it only refers to a value.
func findFirst(pattern string) func(string) []span {
	re := regexp.MustCompile(pattern)
	return func(text string) (out []span) {
		for _, at := range re.FindAllStringSubmatchIndex(text, -1) {
			if value := text[at[2]:at[3]]; !isReference(value) && !isPlaceholder(value) {
				out = append(out, span{at[2], at[3]})
			}
		}
		return out
	}
}

// findGroups finds the first group of the second pattern within what the first one matches.
func findGroups(outer, inner string) func(string) []span {
	within, value := regexp.MustCompile(outer), findFirst(inner)
	return func(text string) (out []span) {
		for _, at := range within.FindAllStringIndex(text, -1) {
			for _, s := range value(text[at[0]:at[1]]) {
				out = append(out, span{s.start + at[0], s.end + at[0]})
			}
		}
		return out
	}
}

func emptyValue(string) string { return "" }

func literalValue(text string) func(string) string { return func(string) string { return text } }
