package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operations"
)

// The reference of IPConfig explains every step, in the order of the plans.
func TestReferenceListsTheStepsOfThePlans(t *testing.T) {
	page, err := os.ReadFile("../../docs/ipconfig.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Steps\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	plans := plans()
	require.Equal(t, append(names(plans[0]), names(plans[1])...), matches("(?m)^\\| `([a-z-]+)` \\|", section), "rows of the tables")
	for _, p := range plans[2:] {
		_, text, found := strings.Cut(section, "\n`"+p.Name+"`, in ")
		require.True(t, found, p.Name)
		listed := matches("`([a-z-]+)`", text)
		require.GreaterOrEqual(t, len(listed), len(p.Steps), p.Name)
		require.Equal(t, names(p), listed[:len(p.Steps)], p.Name)
	}
}

// Samples of a narration number and name the steps as the plans do.
func TestSamplesNumberTheStepsOfThePlans(t *testing.T) {
	known := map[string]bool{}
	for _, p := range plans() {
		for i, s := range p.Steps {
			known[fmt.Sprintf("%d of %d: %s", i+1, len(p.Steps), s.Title)] = true
		}
	}
	sample := regexp.MustCompile(`(\d+)(?:/| of )(\d+)(?:\]|:) ([A-Z][a-z ]+)`)
	for _, name := range []string{"ipconfig.md", "operate/recover-by-hand.md"} {
		page, err := os.ReadFile("../../docs/" + name)
		require.NoError(t, err)
		samples := sample.FindAllStringSubmatch(string(page), -1)
		require.NotEmpty(t, samples, name)
		for _, s := range samples {
			step := fmt.Sprintf("%s of %s: %s", s[1], s[2], strings.TrimSpace(s[3]))
			require.True(t, known[step], "%s: no plan has the step %q", name, step)
		}
	}
}

// Every kind of operation that a node can have is on the page.
func TestThePageHasEveryKindOfOperation(t *testing.T) {
	listed := map[string]bool{}
	for _, p := range pages() {
		listed[p.plan.Name] = true
	}
	for _, k := range operations.All() {
		require.True(t, listed[k.Plan.Name], "%s", k.Name)
	}
}

func plans() []flow.Plan {
	return []flow.Plan{
		(&change.PrePivot{}).Plan(), (&change.PostPivot{}).Plan(), (&change.Rollback{}).Plan(), (&change.Cleanup{}).Plan(),
	}
}

func names(p flow.Plan) (all []string) {
	for _, s := range p.Steps {
		all = append(all, s.Name)
	}
	return all
}

func matches(pattern, text string) (all []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}
