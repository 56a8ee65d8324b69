package wire

import (
	"encoding/base64"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// kubeconfigFields end with -data and hold PEM in a kubeconfig, YAML or JSON (k8s.io/client-go tools/clientcmd/api/v1);
// afterName is what stands between such a name and its value: of YAML a block's header too, and the indent of its first line.
var (
	kubeconfigFields = []string{"client-certificate", "client-key", "certificate-authority"}
	afterName        = regexp.MustCompile(`^-data\\?["']?\s*:[ \t]*(?:(?:[>|]|\\+u003[eE])[-+0-9]*)?(?:\s|\\+[nrt])*\\?["']?`)
)

// A value goes on in the next line if there are digits in it and nothing else (YAML 1.2.2 6.5); blanks are no part of it.
var (
	nextLine = regexp.MustCompile(`^[ \t]*(?:\r|\\+r)?(?:\n|\\+n)(?:[ \t]|\\+t)*([A-Za-z0-9+/]+=*)[ \t]*(?:["'\\\r\n]|$)`)
	blanks   = regexp.MustCompile(`[ \t\r\n]|\\+[nrt]`)
)

// kubeconfigEdits visits the certificates and keys that a kubeconfig embeds.
func kubeconfigEdits(text string, visit BlobVisitor) (edits []Edit) {
	for start, end := range kubeconfigValues(text) {
		plain, err := base64.StdEncoding.DecodeString(blanks.ReplaceAllString(text[start:end], ""))
		if err != nil {
			continue
		}
		if pem := EditPEM(string(plain), visit); pem != string(plain) {
			edits = append(edits, Edit{start, end, foldLike(base64.StdEncoding.EncodeToString([]byte(pem)), text[start:end])})
		}
	}
	return edits
}

// BrokenKubeconfig reports whether a field of a kubeconfig holds something else than base64.
func BrokenKubeconfig(text string) bool {
	if !strings.Contains(text, embedded) {
		return false
	}
	for start, end := range kubeconfigValues(text) {
		if _, err := base64.StdEncoding.DecodeString(blanks.ReplaceAllString(text[start:end], "")); err != nil {
			return true
		}
	}
	return false
}

// foldLike wraps a text as another one is.
func foldLike(text, like string) string {
	line := lineBegin.FindStringSubmatchIndex(like)
	if line == nil || line[2] == 0 {
		return text
	}
	width, between := len(strings.TrimRight(like[:line[2]], " \t")), like[line[2]:line[3]]
	var out strings.Builder
	for ; len(text) > width; text = text[width:] {
		out.WriteString(text[:width] + between)
	}
	return out.String() + text
}

// kubeconfigValues finds the values of the fields, in base64.
func kubeconfigValues(text string) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for pos := 0; ; {
			name := strings.Index(text[pos:], embedded)
			if name < 0 {
				return
			}
			name += pos
			pos = name + len(embedded)
			between := afterName.FindString(text[name:])
			if between == "" || !slices.ContainsFunc(kubeconfigFields, func(f string) bool { return strings.HasSuffix(text[:name], f) }) {
				continue
			}
			start := name + len(between)
			end := endOfValue(text, start)
			if end-start < leastPEM {
				continue
			}
			if pos = end; !yield(start, end) {
				return
			}
		}
	}
}

// endOfValue is where base64 ends, in the line it begins in or a further one.
func endOfValue(text string, start int) int {
	end := start + prefixLength(text[start:], base64Digits)
	end += prefixLength(text[end:], "=")
	for end > start {
		next := nextLine.FindStringSubmatchIndex(text[end:])
		if next == nil {
			break
		}
		end += next[3]
	}
	return end
}

// prefixLength is how many of the first bytes are in a set.
func prefixLength(text, set string) int { return len(text) - len(strings.TrimLeft(text, set)) }

// leastPEM is how many digits a value has at least that may be PEM.
const (
	leastPEM     = 16
	base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
)
