package operation

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBlobsAreWhatTheExpressionSays compares the search by hand with the regular expression for runs of base64.
func TestBlobsAreWhatTheExpressionSays(t *testing.T) {
	blob := regexp.MustCompile(`[A-Za-z0-9+/]{60,}={0,2}`)
	draw := rand.New(rand.NewPCG(7, 7))
	pieces := []string{"aB3/", "+Zz9", "0123456789abcdef", "/usr/lib", "=", "==", " ", "\n", "-", "é"}
	for range 2000 {
		var text []byte
		for range draw.IntN(60) {
			text = append(text, bytes.Repeat([]byte(pieces[draw.IntN(len(pieces))]), 1+draw.IntN(12))...)
		}
		want := blob.ReplaceAllFunc(text, func(b []byte) []byte {
			if isPath(b) {
				return b
			}
			return redacted
		})
		require.Equal(t, string(want), string(redactBlobs(text)), "of %q", text)
	}
}
