package secretscan

import "strings"

// hintIndex finds in one pass which rules may find something in a text: most texts have none of the hints.
type hintIndex struct {
	// begins marks the two bytes that some hint begins with, without regard to case.
	begins [1 << 16]bool
	hints  map[[2]byte][]hint
	rules  int
}

type hint struct {
	text string
	rule int
}

func newHintIndex(rules []Rule) *hintIndex {
	x := &hintIndex{hints: map[[2]byte][]hint{}, rules: len(rules)}
	for i, r := range rules {
		for _, h := range r.hints {
			key := [2]byte{h[0], h[1]}
			x.hints[key] = append(x.hints[key], hint{h, i})
			for _, a := range bothCases(h[0]) {
				for _, b := range bothCases(h[1]) {
					x.begins[int(a)<<8|int(b)] = true
				}
			}
		}
	}
	return x
}

func bothCases(b byte) []byte {
	if b >= 'a' && b <= 'z' {
		return []byte{b, b - 'a' + 'A'}
	}
	return []byte{b}
}

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b - 'A' + 'a'
	}
	return b
}

// in says which rules have a hint in the text.
func (x *hintIndex) in(text string) []bool {
	var out []bool
	for i := 0; i+1 < len(text); i++ {
		if !x.begins[int(text[i])<<8|int(text[i+1])] {
			continue
		}
		for _, h := range x.hints[[2]byte{lower(text[i]), lower(text[i+1])}] {
			if len(text)-i < len(h.text) || out != nil && out[h.rule] || !strings.EqualFold(text[i:i+len(h.text)], h.text) {
				continue
			}
			if out == nil {
				out = make([]bool, x.rules)
			}
			out[h.rule] = true
		}
	}
	return out
}

// next is where the next hint stands, from a position on; -1 is none.
func (x *hintIndex) next(text string, from int) (start, end int) {
	for i := from; i+1 < len(text); i++ {
		if !x.begins[int(text[i])<<8|int(text[i+1])] {
			continue
		}
		for _, h := range x.hints[[2]byte{lower(text[i]), lower(text[i+1])}] {
			if len(text)-i >= len(h.text) && strings.EqualFold(text[i:i+len(h.text)], h.text) {
				return i, i + len(h.text)
			}
		}
	}
	return -1, -1
}

// around is how much of a text before and after a name is read with it.
const around = 512

// near calls see with each part of the text that has a hint, and where the part begins.
func (x *hintIndex) near(text string, see func(part string, at int)) {
	for pos := 0; pos < len(text); {
		found, end := x.next(text, pos)
		if found < 0 {
			return
		}
		start := max(pos, found-around)
		if line := strings.LastIndexByte(text[start:found], '\n'); line >= 0 {
			start += line + 1
		}
		if line := strings.IndexByte(text[end:], '\n'); line >= 0 && line < 8*around {
			end += line + 1
		} else {
			end = min(len(text), end+8*around)
		}
		see(text[start:end], start)
		pos = end
	}
}
