package secretscan

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// Bounds of what is unpacked: how deep, how large one content, and how much in all for one value.
const (
	maxDepth    = 6
	maxInflated = 16 << 20
	maxUnpacked = 64 << 20
)

// hit is a secret that was found; value never leaves the package.
type hit struct {
	rule  *Rule
	value string
	// inside: it is within something that cannot be edited.
	inside bool
}

// judge says whether the value is to be replaced.
type judge func(h hit) bool

// scanner has the rules compiled.
type scanner struct {
	text  []Rule
	whole map[string]*Rule
	hints *hintIndex
}

func newScanner() *scanner {
	s := &scanner{text: textRules(), whole: map[string]*Rule{}}
	s.hints = newHintIndex(s.text)
	for _, r := range wholeRules() {
		s.whole[r.Name] = &r
	}
	return s
}

// pass is the examination of one value.
type pass struct {
	*scanner
	judge judge
	// words: the rule that goes by key words counts.
	words bool
	left  int
	// unread says why something could not be unpacked.
	unread string
}

// editContent returns the content without what the judge wants replaced.
func (s *scanner) editContent(content string, words bool, j judge) (out, unread string) {
	p := &pass{scanner: s, judge: j, words: words, left: maxUnpacked}
	return p.examineContent(content, 0), p.unread
}

// examineContent examines a content of any form.
func (p *pass) examineContent(content string, depth int) string {
	if depth > maxDepth {
		p.unread = "is packed too often"
		return content
	}
	if wire.IsCompressed(content) {
		return p.examineCompressed(content, depth)
	}
	if p.isWhole(content) {
		return Placeholder
	}
	if !isText(content) {
		return p.examineBinary(content)
	}
	return p.examinePlain(content, depth)
}

// isWhole reports whether the content as a whole is a secret that is to be replaced.
func (p *pass) isWhole(content string) bool {
	data := []byte(content[:min(len(content), derLimit)])
	name := ""
	switch {
	case derKey(data):
		name = ruleDER
	case keyStore(data):
		name = ruleKeyStore
	default:
		return false
	}
	return p.judge(hit{rule: p.whole[name], value: content})
}

// examineBinary looks for secrets in what cannot be edited: where one is to be replaced, all of it is.
func (p *pass) examineBinary(content string) string {
	replaced := false
	inner := pass{scanner: p.scanner, left: p.left, judge: func(h hit) bool {
		h.inside = true
		replaced = p.judge(h) || replaced
		return false
	}}
	inner.applyRules(content)
	if replaced {
		return Placeholder
	}
	return content
}

// examineCompressed edits what is compressed, as what it is.
func (p *pass) examineCompressed(content string, depth int) string {
	plain, ok := p.gunzip(content)
	if !ok {
		return content
	}
	edited := p.examineContent(plain, depth+1)
	if edited == plain {
		return content
	}
	return wire.Deflate(edited)
}

func (p *pass) gunzip(content string) (string, bool) {
	r, err := gzip.NewReader(strings.NewReader(content))
	if err != nil {
		return "", false
	}
	limit := min(maxInflated, p.left)
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(r, int64(limit)+1))
	p.left -= int(n)
	switch {
	case n > int64(limit):
		p.unread = "unpacks to too much"
		return "", false
	case err != nil && n == 0:
		return "", false
	}
	return out.String(), true
}

// examinePlain examines a text, then what it carries.
func (p *pass) examinePlain(text string, depth int) string {
	out := p.applyRules(text)
	if wire.MayHoldDataURL(out) {
		out = wire.EditDataURLs(out, func(content string) []wire.Edit {
			edited := p.examineCarried(content, depth)
			if edited == content {
				return nil
			}
			return []wire.Edit{{Start: 0, End: len(content), Text: edited}}
		})
	}
	return p.examineBase64(out, depth)
}

// applyRules applies the rules about parts of a text. Where two overlap, the first in the table counts.
func (p *pass) applyRules(text string) string {
	may := p.hints.findHints(text)
	if may == nil {
		return text
	}
	var edits []wire.Edit
	var taken []bool // the bytes of values that were found
	for i := range p.text {
		r := &p.text[i]
		if r.Name == ruleKeyword && !p.words || len(may[i]) == 0 {
			continue
		}
		for _, s := range r.findNear(text, may[i]) {
			if taken == nil {
				taken = make([]bool, len(text))
			}
			if taken[s.start] || taken[s.end-1] {
				continue
			}
			for i := s.start; i < s.end; i++ {
				taken[i] = true
			}
			if p.judge(hit{rule: r, value: text[s.start:s.end]}) {
				edits = append(edits, wire.Edit{Start: s.start, End: s.end, Text: r.replacementOf(text[s.start:s.end])})
			}
		}
	}
	slices.SortFunc(edits, func(a, b wire.Edit) int { return a.Start - b.Start })
	return wire.Splice(text, edits)
}

// findNear finds what the rule does in the parts of a text around its hints.
func (r *Rule) findNear(text string, hints []int) (out []span) {
	if r.wide {
		return r.find(text)
	}
	visitNear(text, hints, func(part string, at int) {
		for _, s := range r.find(part) {
			out = append(out, span{s.start + at, s.end + at})
		}
	})
	return out
}

func (r *Rule) replacementOf(value string) string {
	if r.put == nil {
		return Placeholder
	}
	return r.put(value)
}

// Base64 that goes on in the next line has at least foldedAt digits in each.
const foldedAt = 60

var blanks = strings.NewReplacer("\n", "", " ", "")

// continuesOnNextLine reports whether a run of digits goes on after the end of a line.
func continuesOnNextLine(rest string) bool {
	rest = strings.TrimLeft(rest[1:], " ")
	return rest != "" && isDigit64(rest[0]) && rest[0] != '-'
}

// least is how many digits a text of base64 has at least that is unpacked.
const least = 24

// examineBase64 unpacks the runs of base64 in a text.
func (p *pass) examineBase64(text string, depth int) string {
	var edits []wire.Edit
	for at := 0; at < len(text); {
		if !isDigit64(text[at]) {
			at++
			continue
		}
		if strings.HasPrefix(text[at:], armor) {
			at = skipArmor(text, at)
			continue
		}
		end, lineStart := at, at
		for end < len(text) && isDigit64(text[end]) {
			end++
			if end-lineStart >= foldedAt && end < len(text) && text[end] == '\n' && continuesOnNextLine(text[end:]) {
				for end++; text[end] == ' '; end++ {
				}
				lineStart = end
			}
		}
		for end < len(text) && text[end] == '=' && end-at > least {
			end++
		}
		if end-at >= least {
			if edited, ok := p.examineRun(text[at:end], depth); ok {
				edits = append(edits, wire.Edit{Start: at, End: end, Text: edited})
			}
		}
		at = end + 1
	}
	return wire.Splice(text, edits)
}

// armor begins what PEM encodes: the rules have seen it.
const armor = "-----BEGIN "

func skipArmor(text string, at int) int {
	if end := strings.Index(text[at:], "-----END"); end > 0 {
		return at + end + len("-----END")
	}
	return at + len(armor)
}

func isDigit64(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '+' || b == '/' || b == '-' || b == '_'
}

// examineRun unpacks one run of digits; ok is one that was changed.
func (p *pass) examineRun(digits string, depth int) (string, bool) {
	for _, form := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		plain, err := form.DecodeString(blanks.Replace(digits))
		if err != nil {
			continue
		}
		edited := p.examineCarried(string(plain), depth)
		if edited == string(plain) {
			return "", false
		}
		return form.EncodeToString([]byte(edited)), true
	}
	return "", false
}

// examineCarried examines a content that was unpacked, if it may hold anything.
func (p *pass) examineCarried(content string, depth int) string {
	if p.left -= len(content); p.left < 0 {
		p.unread = "unpacks to too much"
		return content
	}
	if depth >= maxDepth {
		p.unread = "is packed too often"
		return content
	}
	return p.examineContent(content, depth+1)
}
