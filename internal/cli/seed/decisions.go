package seed

import (
	"fmt"

	"sigs.k8s.io/yaml"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/secretscan"
)

// readDecisions reads decisions about secrets in the form that they have in a SeedGenerator.
func readDecisions(text []byte) (out []secretscan.Ruling, err error) {
	var list []lcav1.SecretDecision
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		return nil, fmt.Errorf("read the list of decisions: %w", err)
	}
	for i, d := range list {
		if d.Decision != lcav1.SecretKeep && d.Decision != lcav1.SecretRemove {
			return nil, fmt.Errorf("entry %d: decision is %q: write Keep or Remove", i+1, d.Decision)
		}
		out = append(out, secretscan.Ruling{
			Object: d.Object, Key: d.Key, Path: d.Path, Keep: d.Decision == lcav1.SecretKeep, Reason: d.Reason,
		})
	}
	return out, nil
}
