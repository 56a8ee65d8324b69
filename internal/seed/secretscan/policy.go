package secretscan

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"path"
	"slices"
	"strings"
)

// Ruling is a decision of the user about places.
type Ruling struct {
	// Object is a reference like "secrets/app/db" or "group/resource/namespace/name", Key one of its data; Path is a file. Each may have
	// the wildcards of path.Match; a path that ends with "/**" means all below it.
	Object string `json:"object,omitempty"`
	Key    string `json:"key,omitempty"`
	Path   string `json:"path,omitempty"`
	// Keep says that it ships, otherwise it is removed. Reason is the user's.
	Keep   bool   `json:"keep,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Problem says what is wrong with a ruling; empty is nothing.
func (r Ruling) Problem() string {
	switch {
	case (r.Object == "") == (r.Path == ""):
		return "needs object or path, not both"
	case r.Key != "" && r.Object == "":
		return "has a key without an object"
	case strings.TrimSpace(r.Reason) == "":
		return "has no reason"
	case r.Path != "" && !strings.HasPrefix(r.Path, "/"):
		return "path " + r.Path + " is not absolute"
	}
	for _, pattern := range []string{r.Object, r.Key, r.Path} {
		if _, err := path.Match(pattern, ""); err != nil {
			return "pattern " + pattern + " cannot be read: write [ ] * ? as path.Match has them"
		}
	}
	return ""
}

// Place is where a secret is.
type Place struct {
	// Object and Key, or Path.
	Object, Key, Path string
}

func (r Ruling) coversPlace(p Place) bool {
	if p.Path != "" {
		return r.Path != "" && matchPath(r.Path, p.Path)
	}
	return r.Object != "" && matchPattern(r.Object, p.Object) && (r.Key == "" || matchPattern(r.Key, p.Key) || matchPattern(r.Key,
		lastStep(p.Key)))
}

func lastStep(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

func matchPattern(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// matchPath is match, where "/**" at the end means everything below.
func matchPath(pattern, name string) bool {
	dir, all := strings.CutSuffix(pattern, "/**")
	if !all {
		return matchPattern(pattern, name)
	}
	depth := strings.Count(dir, "/") + 1
	steps := strings.Split(name, "/")
	return len(steps) > depth && matchPattern(dir, strings.Join(steps[:depth], "/"))
}

// Seen are the renewable secrets that the seed itself has. It holds no value, only keyed hashes.
type Seen struct {
	Salt string          `json:"salt"`
	IDs  map[string]bool `json:"ids"`
}

// NewSeen begins with a random salt.
func NewSeen(salt string) *Seen { return &Seen{Salt: salt, IDs: map[string]bool{}} }

// secretID is of a value whatever it is wrapped in.
func (s *Seen) secretID(h hit) string {
	mac := hmac.New(sha256.New, []byte(s.Salt))
	mac.Write([]byte(canonicalValue(h)))
	return hex.EncodeToString(mac.Sum(nil))
}

// canonicalValue is what makes a secret the same: the digits of a key without its armor, the signature of a token.
func canonicalValue(h hit) string {
	switch h.rule.Name {
	case ruleDER:
		return strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(h.value)), "=")
	case "token-signed":
		return h.value[strings.LastIndexByte(h.value, '.')+1:]
	}
	_, body, _ := strings.Cut(strings.TrimPrefix(h.value, "-----"), "-----")
	body, _, _ = strings.Cut(body, "-----")
	body = strings.NewReplacer(`\n`, "", `\r`, "").Replace(body)
	return strings.Map(func(r rune) rune {
		if r < 128 && isDigit64(byte(r)) {
			return r
		}
		return -1
	}, body)
}

// noteIn notes what a content has of them.
func (s *Scan) noteIn(seen *Seen, content string) {
	s.scanner.editContent(content, false, func(h hit) bool {
		if h.rule.renewable {
			seen.IDs[seen.secretID(h)] = true
		}
		return false
	})
}

// isRuled reports whether the user decided about the place.
func (s *Scan) isRuled(p Place) bool {
	return slices.ContainsFunc(s.Rulings, func(r Ruling) bool { return r.coversPlace(p) })
}

// decideHit says what becomes of a secret, and why.
func (s *Scan) decideHit(h hit, p Place) (Decision, string) {
	for _, r := range s.Rulings {
		if r.coversPlace(p) {
			if r.Keep {
				return Allowed, r.Reason
			}
			return Removed, r.Reason
		}
	}
	if h.rule.renewable && s.Seen != nil && isRenewed(p) && !s.Seen.IDs[s.Seen.secretID(h)] {
		return Renewed, "recert made it for the image, the seed does not have it"
	}
	if reason, ok := keptOnPurpose(h.rule.Name, p); ok {
		return Kept, reason
	}
	return h.rule.Decision, h.rule.What
}
