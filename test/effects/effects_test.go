package effects_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/test/effects"
)

type sample struct {
	inner

	Name   string            `json:"name"`
	Rows   []row             `json:"rows,omitempty"`
	Labels map[string]string `json:"labels"`
	Raw    []byte            `json:"raw"`
	Next   *sample           `json:"next"`
	Own    *opaque           `json:"own"`
	hidden string
}

type (
	inner  struct{ Kind string }
	row    struct{ A, B int }
	opaque struct{ X int }
)

func paths(fields []effects.Field) (out []string) {
	for _, f := range fields {
		out = append(out, f.Path)
	}
	return out
}

func TestEveryFieldIsWalked(t *testing.T) {
	_ = sample{}.hidden
	fields := effects.Fields(reflect.TypeFor[sample](), reflect.TypeFor[opaque]())
	require.Equal(t, []string{"Kind", "name", "rows[].A", "rows[].B", "labels", "raw", "next", "own"}, paths(fields))
}

// A table that lies fails: a field that nothing proves, a test that is gone, one that never speaks of the field, a row of the past.
func TestATableThatLiesFails(t *testing.T) {
	fields := []effects.Field{{Path: "kind", Name: "Kind", Key: "kind"}, {Path: "rows[].A", Name: "A", Key: "A"},
		{Path: "forgotten", Name: "Forgotten", Key: "forgotten"}, {Path: "never", Name: "N" + "ever", Key: "n" + "everspoken"}}
	here := effects.In("test/effects", "TestEveryFieldIsWalked")
	got := effects.Problems(fields, map[string]effects.Row{
		"kind": effects.In("test/effects", "TestThatIsGone"), "rows[].*": here, "past": here, "never": here,
	}, "../..")
	require.Len(t, got, 4)
	require.Contains(t, got[0], "kind: test/effects has no test TestThatIsGone")
	require.Contains(t, got[1], "forgotten has no row")
	require.Contains(t, got[2], "never: the file of TestEveryFieldIsWalked in test/effects never speaks of it")
	require.Contains(t, got[3], "past is no field")
}
