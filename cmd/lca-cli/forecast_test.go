package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
)

func TestAForecastTellsWhyAndWhereOfThePlan(t *testing.T) {
	note := func(where string) []inspect.Note { return []inspect.Note{{Where: where, Why: "why"}} }
	f := summarizePlan(&recert.Plan{Blocked: note("/blocked"), Warnings: note("/warned"), Leftovers: note("/left"), NotRead: note("/closed")})
	require.Equal(t, []string{"/blocked: why"}, f.Blocked)
	require.Equal(t, []string{"/warned: why"}, f.Warnings)
	require.Equal(t, []string{"/left: why"}, f.Leftovers)
	require.Equal(t, []string{"/closed: why"}, f.NotRead)
}
