package wire

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
)

// blobKind is what a located blob of key material is.
type blobKind int

// Kinds of blobs.
const (
	CertificateBlob blobKind = iota
	PrivateKeyBlob
	PublicKeyBlob
)

// Blob is a certificate or key as it is written in a text.
type Blob struct {
	Kind blobKind
	// Label is the PEM label (RFC 7468), body what stands between its lines.
	Label, Body string
}

// DER decodes the body; nil is one that is not base64.
func (b Blob) DER() []byte {
	body := b.Body
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

// BlobVisitor sees a blob and returns the DER that takes its place, or nil to leave it.
type BlobVisitor func(Blob) []byte

// Parts of PEM and of a kubeconfig.
const (
	PEMBegin   = "-----BEGIN "
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

// EditBlobs visits every certificate and private key of a text: PEM blocks, those a kubeconfig embeds, and both in
// files that a MachineConfig carries as data URLs.
// Everything around a replaced blob stays.
func EditBlobs(text string, visit BlobVisitor) string {
	out := text
	if strings.Contains(out, PEMBegin) {
		out = EditPEM(out, visit)
	}
	if strings.Contains(out, embedded) {
		out = Splice(out, kubeconfigEdits(out, visit))
	}
	if MayHoldDataURL(out) {
		out = EditDataURLs(out, func(content string) []Edit {
			edits := append(pemEdits(content, visit), kubeconfigEdits(content, visit)...)
			slices.SortFunc(edits, func(a, b Edit) int { return a.Start - b.Start })
			return edits
		})
	}
	return out
}

// MayHoldBlobs is a cheap look before editBlobs.
func MayHoldBlobs(text string) bool {
	return strings.Contains(text, PEMBegin) || strings.Contains(text, embedded) || MayHoldDataURL(text)
}

// EditPEM visits every certificate and key in PEM.
func EditPEM(text string, visit BlobVisitor) string { return Splice(text, pemEdits(text, visit)) }

// pemEdits visits every certificate and key in PEM; an edit covers the body that is replaced.
func pemEdits(text string, visit BlobVisitor) []Edit {
	var edits []Edit
	for pos := 0; ; {
		begin := strings.Index(text[pos:], PEMBegin)
		if begin < 0 {
			return edits
		}
		begin += pos + len(PEMBegin)
		pos = begin
		label, body, ok := pemBlock(text[begin:])
		if !ok {
			continue
		}
		start := begin + len(label) + len(pemDashes)
		pos = start + len(body)
		headers := pemHeaders(body)
		start, body = start+len(headers), body[len(headers):]
		kind, ok := kindOf(label)
		if !ok {
			continue
		}
		if der := visit(Blob{kind, label, body}); der != nil {
			edits = append(edits, Edit{start, start + len(body), encodeBody(der, body)})
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

// BrokenPEM says what is wrong with the first certificate or key in PEM that cannot be read; empty where all can.
func BrokenPEM(text string) string {
	for rest := text; ; {
		_, after, found := strings.Cut(rest, PEMBegin)
		if !found {
			return ""
		}
		rest = after
		label, _, _ := strings.Cut(rest, pemDashes)
		kind, ok := kindOf(label)
		if !ok {
			continue
		}
		_, body, ended := pemBlock(rest)
		switch {
		case !ended:
			return "a " + label + " in PEM has no end"
		case (Blob{kind, label, body[len(pemHeaders(body)):]}).DER() == nil && pemHeaders(body) == "":
			return "a " + label + " in PEM is not base64"
		}
	}
}

// pemHeaders are the lines of a body before its digits (RFC 1421 4.4): of those, digits have no colon.
func pemHeaders(body string) string {
	if strings.IndexByte(body, ':') < 0 { // faster than finding the last one
		return ""
	}
	last := strings.LastIndexByte(body, ':')
	end := strings.IndexByte(body[last:], '\n')
	if end < 0 {
		return ""
	}
	return body[:last+end]
}

// kindOf is the kind of blob with a PEM label.
func kindOf(label string) (kind blobKind, ok bool) {
	switch label {
	case "CERTIFICATE":
		return CertificateBlob, true
	case "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY":
		return PrivateKeyBlob, true
	case "PUBLIC KEY", "RSA PUBLIC KEY":
		return PublicKeyBlob, true
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
	between, text := lineSeparator(lead, digits), base64.StdEncoding.EncodeToString(der)
	var out strings.Builder
	out.WriteString(lead)
	for between != "" && len(text) > pemColumns {
		out.WriteString(text[:pemColumns] + between)
		text = text[pemColumns:]
	}
	out.WriteString(text + trail)
	return out.String()
}

// lineSeparator is what parts the lines of a body: an end of line and the indent after it, blanks, or nothing. For a single short
// line it is what precedes that line.
func lineSeparator(lead, digits string) string {
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
