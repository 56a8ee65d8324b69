package change_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
)

// Samples of a timeline in the documentation name flows and steps that exist.
func TestTheDocumentationNamesStepsThatExist(t *testing.T) {
	known := map[string]bool{}
	for _, p := range append(plansOf(t), (&change.Cleanup{}).Plan()) {
		for _, s := range p.Steps {
			known[p.Name+" "+s.Name] = true
		}
	}
	page, err := os.ReadFile("../../../docs/operate/recover-by-hand.md")
	require.NoError(t, err)
	samples := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d  ([a-z-]+) +([a-z-]+) `).FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, samples)
	for _, s := range samples {
		require.True(t, known[s[1]+" "+s[2]], "%s %s", s[1], s[2])
	}
}
