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

func toLower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b - 'A' + 'a'
	}
	return b
}

// findHints says where in the text each rule has hints; nil where no rule has any.
func (x *hintIndex) findHints(text string) (out [][]int) {
	for i := 0; i+1 < len(text); i++ {
		if !x.begins[int(text[i])<<8|int(text[i+1])] {
			continue
		}
		for _, h := range x.hints[[2]byte{toLower(text[i]), toLower(text[i+1])}] {
			if len(text)-i < len(h.text) || !strings.EqualFold(text[i:i+len(h.text)], h.text) {
				continue
			}
			if out == nil {
				out = make([][]int, x.rules)
			}
			out[h.rule] = append(out[h.rule], i)
		}
	}
	return out
}

// How much of a text is read before and after a hint; a value that is longer is read to its end, within a bound.
const (
	before   = 160
	after    = 200
	lineMax  = 4096
	valueMax = 64 << 10
)

// visitNear calls see with the parts of the text around the hints, and where each begins. A part begins with a line, and no value is cut.
func visitNear(text string, hints []int, see func(part string, at int)) {
	last := 0
	for _, at := range hints {
		if at < last {
			continue
		}
		start := max(last, at-before)
		if start > last {
			if line := strings.LastIndexByte(text[max(last, start-lineMax):start], '\n'); line >= 0 {
				start = max(last, start-lineMax) + line + 1
			}
		}
		last = endOfPart(text, at)
		see(text[start:last], start)
	}
}

func endOfPart(text string, at int) int {
	end := min(len(text), at+after)
	if line := strings.IndexByte(text[end:min(len(text), end+lineMax)], '\n'); line >= 0 {
		return end + line + 1
	}
	limit := min(len(text), end+valueMax)
	for end < limit && strings.IndexByte(" \t\r\n\"'", text[end]) < 0 {
		end++
	}
	return end
}
