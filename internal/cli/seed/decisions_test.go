package seed

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/secretscan"
)

func TestDecisionsAreReadAsTheAPIHasThem(t *testing.T) {
	got, err := readDecisions([]byte("- object: secrets/app/db\n  key: password\n  decision: Keep\n  reason: of a demo\n- path: /etc/app/**\n  decision: Remove\n  reason: of the seed\n"))
	require.NoError(t, err)
	require.Equal(t, []secretscan.Ruling{{Object: "secrets/app/db", Key: "password", Keep: true, Reason: "of a demo"}, {Path: "/etc/app/**", Reason: "of the seed"}}, got)
	for text, want := range map[string]string{
		"- object: a\n  decision: keep\n": `entry 1: decision is "keep": write Keep or Remove`, "- objekt: a\n": "unknown field", "x": "read the list of decisions",
	} {
		_, err := readDecisions([]byte(text))
		require.ErrorContains(t, err, want)
	}
}
