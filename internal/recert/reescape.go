package recert

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// escapedLine is a line of a percent-encoded text, escapedUnit an escape or a character of it: parting either would say something else.
var (
	escapedLine = regexp.MustCompile(`.*?%0[aA]|.+$`)
	escapedUnit = regexp.MustCompile(`%[0-9a-fA-F]{2}|.`)
)

// reescape percent-encodes a text that was edited. Which characters are escaped is up to who wrote it, so lines that were there before
// stay as they are written, and of the others what they begin and end with.
func reescape(encoded, edited string) string {
	old, lines, known := escapedLine.FindAllString(encoded, -1), slices.Collect(strings.Lines(edited)), spellingOf(encoded)
	if len(lines) == len(old) {
		return known.rewrite(old, lines) // a line that became like another one is not taken for it
	}
	places := map[string][]int{}
	for i, line := range old {
		places[unescaped(line)] = append(places[unescaped(line)], i)
	}
	var out strings.Builder
	next, settled := 0, 0
	for i, line := range lines {
		at := places[line]
		for len(at) > 0 && at[0] < next {
			at = at[1:]
		}
		if places[line] = at; len(at) > 0 {
			out.WriteString(known.rewrite(old[next:at[0]], lines[settled:i]) + old[at[0]])
			next, settled = at[0]+1, i+1
		}
	}
	return out.String() + known.rewrite(old[next:], lines[settled:])
}

// spelling is how a text writes the bytes that it escapes.
type spelling map[byte]string

func spellingOf(encoded string) spelling {
	known := spelling{}
	for _, unit := range escapedUnit.FindAllString(encoded, -1) {
		if unit[0] == '%' {
			known[unescaped(unit)[0]] = unit
		}
	}
	return known
}

// rewrite encodes the lines that take the place of others: one by one where they are as many.
func (s spelling) rewrite(old, lines []string) string {
	if len(old) != len(lines) {
		return s.rewriteText(strings.Join(old, ""), strings.Join(lines, ""))
	}
	var out strings.Builder
	for i := range old {
		out.WriteString(s.rewriteText(old[i], lines[i]))
	}
	return out.String()
}

// rewriteText leaves what the old text and the new one begin and end with, in whole escapes.
func (s spelling) rewriteText(old, fresh string) string {
	units := escapedUnit.FindAllString(old, -1)
	head, tail := 0, len(old)
	for len(units) > 0 && strings.HasPrefix(fresh, unescaped(units[0])) {
		head, fresh, units = head+len(units[0]), fresh[len(unescaped(units[0])):], units[1:]
	}
	for n := len(units) - 1; n >= 0 && strings.HasSuffix(fresh, unescaped(units[n])); n-- {
		tail, fresh = tail-len(units[n]), fresh[:len(fresh)-len(unescaped(units[n]))]
	}
	return old[:head] + s.escape(fresh) + old[tail:]
}

// escape escapes what the text escapes anywhere, and what a URL needs.
func (s spelling) escape(fresh string) string {
	var out strings.Builder
	for i := range len(fresh) {
		unit, ok := s[fresh[i]]
		if !ok {
			unit = url.PathEscape(fresh[i : i+1])
		}
		out.WriteString(unit)
	}
	return out.String()
}

// unescaped is what a percent-encoded text says, which is known to be one.
func unescaped(encoded string) string {
	plain, _ := url.PathUnescape(encoded) // it decodes: the text that it is part of did
	return plain
}
