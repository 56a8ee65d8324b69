package recert

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
)

// verifyAnswer is the answer of "recert verify".
type verifyAnswer struct {
	Passed bool `json:"passed"`
	*inspect.Verification
}

// Text implements output.Answer.
func (a verifyAnswer) Text(w io.Writer) error { return a.WriteText(w) }

// scanAnswer is the answer of "recert scan".
type scanAnswer struct{ *inspect.Inventory }

// Text implements output.Answer: the certificates as a tree of who signed whom, each with all its places, then keys and tokens.
func (a scanAnswer) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %s, %s\n", inspect.Count(len(a.Certificates), "certificate"),
		inspect.Count(len(a.Keys), "private key"), inspect.Count(len(a.PublicKeys), "public key"), inspect.Count(len(a.Tokens), "token"))
	t := tree{out: &b, signed: map[string][]inspect.Found{}, shown: map[string]bool{}}
	for _, c := range a.Certificates {
		if c.SignedBy == c.Fingerprint {
			c.SignedBy = ""
		}
		t.signed[c.SignedBy] = append(t.signed[c.SignedBy], c)
	}
	for _, c := range append(slices.Clone(t.signed[""]), a.Certificates...) { // what is left signed each other
		t.writeCertificate(c, "")
	}
	if err := a.WriteKeys(&b); err != nil {
		return err
	}
	for _, resource := range slices.Sorted(maps.Keys(a.Unread)) {
		fmt.Fprintf(&b, "Not read: %s of %s, encrypted at rest\n", inspect.Count(a.Unread[resource], "object"), resource)
	}
	if len(a.Leftovers) > 0 {
		fmt.Fprintf(&b, "Mentions of an old address (%d):\n", len(a.Leftovers))
	}
	for _, n := range a.Leftovers {
		fmt.Fprintf(&b, "  %s: %s\n", n.Where, n.Why)
	}
	inspect.WriteNotes(&b, "Not looked into", a.NotRead)
	_, err := io.WriteString(w, b.String())
	return err
}

// tree writes certificates and below each what it signed, every certificate once.
type tree struct {
	out    *strings.Builder
	signed map[string][]inspect.Found
	shown  map[string]bool
}

func (t tree) writeCertificate(c inspect.Found, indent string) {
	if t.shown[c.Fingerprint] {
		return
	}
	t.shown[c.Fingerprint] = true
	fmt.Fprintf(t.out, "%s%s  %s\n", indent, c.Fingerprint[:12], c.Subject)
	fmt.Fprintf(t.out, "%s  %s\n", indent, describeCertificate(c))
	for _, p := range c.Places {
		fmt.Fprintf(t.out, "%s  at %s\n", indent, p)
	}
	for _, child := range t.signed[c.Fingerprint] {
		t.writeCertificate(child, indent+"    ")
	}
}

func describeCertificate(c inspect.Found) string {
	words := []string{"leaf"}
	if c.Authority {
		words[0] = "authority"
	}
	words = append(words, c.Algorithm, "valid until "+c.NotAfter.UTC().Format(time.RFC3339))
	if !c.HasKey {
		words = append(words, "its key is not in the cluster")
	}
	if c.SignedBy == "" && c.Issuer != c.Subject {
		words = append(words, "its issuer "+c.Issuer+" is not in the cluster")
	}
	if !c.Authority && len(c.Names) > 0 {
		words = append(words, "for "+strings.Join(uniqueNames(c.Names), " "))
	}
	return strings.Join(words, ", ")
}

// uniqueNames drops repeated names: OpenShift lists an address as such and as a DNS name.
func uniqueNames(names []string) (out []string) {
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
