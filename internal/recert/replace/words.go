package replace

import (
	"iter"
	"net/netip"
	"strings"
)

// word is an address found in a text.
type word struct {
	start, end int
	addr       netip.Addr
	// host reports whether the word is the address of a host and nothing else, so that it may be replaced.
	host bool
}

// Classes of bytes: those an address is written with, and those that make it part of a longer word.
const (
	classAddr = 1 << iota
	classWord
)

var byteClass = func() (t [256]uint8) {
	for c := range 256 {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F', c == '.', c == ':':
			t[c] = classAddr
		case 'g' <= c && c <= 'z', 'G' <= c && c <= 'Z', c == '_', c == '-', c == '%', c >= 0x80:
			t[c] = classWord
		}
	}
	return t
}()

// addressWords finds the addresses of a text: it takes every longest run of the bytes that addresses are
// written with, and what stands around it decides what the run is.
func addressWords(text string) iter.Seq[word] {
	return func(yield func(word) bool) {
		for i := 0; i < len(text); i++ {
			if byteClass[text[i]] != classAddr {
				continue
			}
			start, dots, colons := i, 0, 0
			for ; i < len(text) && byteClass[text[i]] == classAddr; i++ {
				switch text[i] {
				case '.':
					dots++
				case ':':
					colons++
				}
			}
			if dots < 3 && colons < 2 {
				continue
			}
			if w, ok := parseWord(text, start, i); ok && !yield(w) {
				return
			}
		}
	}
}

// parseWord reads the run text[start:end] as an address, an address with a port, or an address with
// punctuation around it.
func parseWord(text string, start, end int) (word, bool) {
	attached := end < len(text) && byteClass[text[end]] == classWord
	start, end = trimPunctuation(text, afterEscape(text, start, end), end)
	attached = attached || (start > 0 && byteClass[text[start-1]] == classWord && !endsInEscape(text[:start]))
	run := text[start:end]
	addr, err := netip.ParseAddr(run)
	if err != nil {
		host, ok := splitPort(run)
		if !ok {
			return word{}, false
		}
		addr, err = netip.ParseAddr(host)
		if err != nil {
			return word{}, false
		}
		end = start + len(host)
	}
	return word{start, end, addr, !attached && !isNetwork(text, start, end, addr)}, true
}

// afterLabel is the IPv6 address behind a label whose end reads like the address's first group, as in "node:2001:db8::1"; zero where
// there is none.
func (w word) afterLabel(text string) netip.Addr {
	if w.start == 0 || byteClass[text[w.start-1]] != classWord || w.addr.Is4() {
		return netip.Addr{}
	}
	_, rest, _ := strings.Cut(text[w.start:w.end], ":")
	addr, err := netip.ParseAddr(rest)
	if err != nil {
		return netip.Addr{}
	}
	return addr
}

// escapeDigits is how many hex digits follow "\u" in JSON (RFC 8259 7). Static pods are JSON in a text, and addresses in their scripts
// may follow an escaped character.
const escapeDigits = 4

// afterEscape is where a run begins that is not part of an escape like "\u003c".
func afterEscape(text string, start, end int) int {
	before, isUnicode := strings.CutSuffix(text[:start], "u")
	if digits := start + escapeDigits; isUnicode && digits < end && isEscaped(before) && isGroup(text[start:digits]) {
		return digits
	}
	return start
}

// endsInEscape reports whether a text ends in "\n" or the like.
func endsInEscape(text string) bool {
	return strings.IndexByte("nrtbf", text[len(text)-1]) >= 0 && isEscaped(text[:len(text)-1])
}

// isEscaped reports whether the text before a character escapes it.
func isEscaped(before string) bool {
	return (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1
}

// trimPunctuation drops the colon or full stop that ends a clause, and the colon that precedes a value.
func trimPunctuation(text string, start, end int) (int, int) {
	run := text[start:end]
	if strings.HasPrefix(run, ":") && !strings.HasPrefix(run, "::") {
		start++
	}
	if strings.HasSuffix(run, ".") || (strings.HasSuffix(run, ":") && !strings.HasSuffix(run, "::")) {
		end--
	}
	return start, max(start, end)
}

// splitPort takes the port off an IPv4 address. IPv6 has its port outside brackets, so its run ends before.
func splitPort(run string) (string, bool) {
	host, port, ok := strings.Cut(run, ":")
	if !ok || port == "" || len(port) > 5 || strings.Trim(port, "0123456789") != "" {
		return "", false
	}
	return host, true
}

// isNetwork reports whether a prefix length shorter than the address follows. In a URL a slash begins the path.
func isNetwork(text string, start, end int, addr netip.Addr) bool {
	if end >= len(text) || text[end] != '/' || strings.HasSuffix(text[:start], "//") {
		return false
	}
	bits := 0
	digits := end + 1
	for ; digits < len(text) && '0' <= text[digits] && text[digits] <= '9' && digits-end <= 3; digits++ {
		bits = 10*bits + int(text[digits]-'0')
	}
	return digits > end+1 && bits != addr.BitLen()
}
