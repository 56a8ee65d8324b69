package recert

import (
	"encoding/base64"
	"strings"
)

// blobKind is what a located blob of key material is.
type blobKind int

const (
	certificateBlob blobKind = iota
	privateKeyBlob
)

// blob is a certificate or private key as it lies in a text. Most are nobody's concern, so it is decoded by whoever wants it.
type blob struct {
	kind blobKind
	// label is the PEM label (RFC 7468), body what stands between its lines.
	label, body string
}

// der decodes the body; nil is one that is not base64.
func (b blob) der() []byte {
	body := b.body
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
	for pos := 0; ; {
		begin := strings.Index(text[pos:], pemBegin)
		if begin < 0 {
			return splice(text, edits)
		}
		begin += pos + len(pemBegin)
		pos = begin
		label, body, ok := pemBlock(text[begin:])
		if !ok {
			continue
		}
		start := begin + len(label) + len(pemDashes)
		pos = start + len(body)
		kind, ok := kindOf(label)
		if !ok {
			continue
		}
		if der := visit(blob{kind, label, body}); der != nil {
			edits = append(edits, splicing{start, pos, encodeBody(der, strings.HasPrefix(body, "\r\n"))})
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

// kindOf tells by a PEM label what it is about.
func kindOf(label string) (kind blobKind, ok bool) {
	switch label {
	case "CERTIFICATE":
		return certificateBlob, true
	case "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY":
		return privateKeyBlob, true
	default:
		return 0, false
	}
}

// encodeBody writes what stands between the begin and the end line.
func encodeBody(der []byte, crlf bool) string {
	newline := "\n"
	if crlf {
		newline = "\r\n"
	}
	text := base64.StdEncoding.EncodeToString(der)
	var out strings.Builder
	out.WriteString(newline)
	for len(text) > 0 {
		n := min(len(text), pemColumns)
		out.WriteString(text[:n] + newline)
		text = text[n:]
	}
	return out.String()
}
