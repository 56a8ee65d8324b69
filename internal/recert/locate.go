package recert

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// blobKind is what a located blob of key material is.
type blobKind int

const (
	certificateBlob blobKind = iota
	privateKeyBlob
	publicKeyBlob
)

// blob is a certificate or key as it lies in a text. Most are nobody's concern, so it is decoded by whoever wants it.
type blob struct {
	kind blobKind
	// label is the PEM label (RFC 7468), body what stands between its lines.
	label, body string
}

// der decodes the body; nil is one that is not base64.
func (b blob) der() []byte {
	body := b.body
	if strings.IndexByte(body, '\\') >= 0 {
		body = escapedSlash.ReplaceAllString(escapedBlank.ReplaceAllString(body, ""), "/")
	}
	if strings.IndexByte(body, ' ') >= 0 || strings.IndexByte(body, '\t') >= 0 { // ends of lines are the decoder's to skip
		body = strings.NewReplacer(" ", "", "\t", "").Replace(body)
	}
	der, err := base64.StdEncoding.DecodeString(body)
	if err != nil || len(der) == 0 {
		return nil
	}
	return der
}

// blobVisitor sees a blob and returns the DER that takes its place, or nil to leave it.
type blobVisitor func(blob) []byte

const (
	pemBegin   = "-----BEGIN "
	pemDashes  = "-----"
	pemColumns = 64
	embedded   = "-data" // ends the fields of a kubeconfig that hold PEM in base64
)

// Blanks part the digits of a body, as they are or escaped, once (JSON in a text, RFC 8259 7) or again. lineBegin is an end of line and the
// indent of the line after it, wordBegin the blanks where there are no lines.
var (
	leadBlanks   = regexp.MustCompile(`^(?:[ \t\r\n]|\\+[nrt])*`)
	trailBlanks  = regexp.MustCompile(`(?:[ \t\r\n]|\\+[nrt])*$`)
	lineBegin    = regexp.MustCompile(`((?:\r|\\+r)?(?:\n|\\+n)(?:[ \t]|\\+t)*)[^ \t\r\n\\]`)
	wordBegin    = regexp.MustCompile(`((?:[ \t\r]|\\+[rt])+)[^ \t\r\n\\]`)
	escapedBlank = regexp.MustCompile(`\\+[nrt]`)
	escapedSlash = regexp.MustCompile(`\\+/`)
)

// editBlobs visits every certificate and private key of a text: PEM blocks, those a kubeconfig embeds, and those in
// files that a MachineConfig carries as data URLs.
// Everything around a replaced blob stays.
func editBlobs(text string, visit blobVisitor) string {
	out := text
	if strings.Contains(out, pemBegin) {
		out = editPEM(out, visit)
	}
	if strings.Contains(out, embedded) {
		out = editKubeconfig(out, visit)
	}
	if mayHoldDataURL(out) {
		out = editDataURLs(out, func(content string) string { return editPEM(content, visit) })
	}
	return out
}

// mayHoldBlobs is a cheap look before editBlobs.
func mayHoldBlobs(text string) bool {
	return strings.Contains(text, pemBegin) || strings.Contains(text, embedded) || mayHoldDataURL(text)
}

func editPEM(text string, visit blobVisitor) string {
	var edits []splicing
	eachPEM(text, func(b blob, start int) {
		if der := visit(b); der != nil {
			edits = append(edits, splicing{start, start + len(b.body), encodeBody(der, b.body)})
		}
	})
	return splice(text, edits)
}

// eachPEM shows every certificate and private key of a text in PEM, and where its body starts.
func eachPEM(text string, see func(b blob, start int)) {
	for pos := 0; ; {
		begin := strings.Index(text[pos:], pemBegin)
		if begin < 0 {
			return
		}
		begin += pos + len(pemBegin)
		pos = begin
		label, body, ok := pemBlock(text[begin:])
		if !ok {
			continue
		}
		start := begin + len(label) + len(pemDashes)
		pos = start + len(body)
		headers := pemHeaders(body)
		start, body = start+len(headers), body[len(headers):]
		if kind, ok := kindOf(label); ok {
			see(blob{kind, label, body}, start)
		}
	}
}

// pemBlock splits what follows "-----BEGIN " into the label and the body up to the matching end line.
func pemBlock(rest string) (label, body string, ok bool) {
	end := strings.Index(rest, pemDashes)
	if end < 0 || strings.ContainsAny(rest[:end], "\n\\") {
		return "", "", false
	}
	label, rest = rest[:end], rest[end+len(pemDashes):]
	stop := strings.Index(rest, "-----END "+label+pemDashes)
	if stop < 0 {
		return "", "", false
	}
	return label, rest[:stop], true
}

// pemHeaders are the lines of a body before its digits (RFC 1421 4.4): of those, digits have no colon.
func pemHeaders(body string) string {
	if strings.IndexByte(body, ':') < 0 { // which is found out faster than where the last one is
		return ""
	}
	last := strings.LastIndexByte(body, ':')
	end := strings.IndexByte(body[last:], '\n')
	if end < 0 {
		return ""
	}
	return body[:last+end]
}

// kindOf tells by a PEM label what it is about.
func kindOf(label string) (kind blobKind, ok bool) {
	switch label {
	case "CERTIFICATE":
		return certificateBlob, true
	case "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY":
		return privateKeyBlob, true
	case "PUBLIC KEY", "RSA PUBLIC KEY":
		return publicKeyBlob, true
	default:
		return 0, false
	}
}

// encodeBody writes what stands between the begin and the end line, laid out as the old body was: YAML needs the indent, and a reader
// that took all on one line may take nothing else.
func encodeBody(der []byte, old string) string {
	lead := leadBlanks.FindString(old)
	trail := trailBlanks.FindString(old[len(lead):])
	digits := old[len(lead) : len(old)-len(trail)]
	between, text := separator(lead, digits), base64.StdEncoding.EncodeToString(der)
	var out strings.Builder
	out.WriteString(lead)
	for between != "" && len(text) > pemColumns {
		out.WriteString(text[:pemColumns] + between)
		text = text[pemColumns:]
	}
	out.WriteString(text + trail)
	return out.String()
}

// separator is what parts the lines of a body: an end of line and the indent after it, blanks, or nothing. A body of a single short line
// does not tell, so it is asked what that line begins with.
func separator(lead, digits string) string {
	if len(digits) <= pemColumns {
		digits = lead + digits
	}
	for _, begin := range []*regexp.Regexp{lineBegin, wordBegin} {
		if m := begin.FindStringSubmatch(digits); m != nil {
			return m[1]
		}
	}
	return ""
}
