package values

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFillReplacesWhatItKnows(t *testing.T) {
	tree := map[string]any{
		"mtu": 1500.0, "list": []any{"{{ values.a }}/{{values.a-prefix}}", "{{ capture.base.name }}"},
		"nested": map[string]any{"unknown": "{{ values.b }}", "plain": "values.a"},
	}
	require.Equal(t, map[string]any{
		"mtu": 1500.0, "list": []any{"192.0.2.7/24", "{{ capture.base.name }}"},
		"nested": map[string]any{"unknown": "{{ values.b }}", "plain": "values.a"},
	}, Fill(tree, map[string]string{"a": "192.0.2.7", "a-prefix": "24"}))
}
