package seedgen

import (
	"unicode/utf8"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/secretscan"
)

// rulingsOf returns the decisions of the spec as lca-cli has them.
func rulingsOf(decisions []lcav1.SecretDecision) (out []secretscan.Ruling) {
	for _, d := range decisions {
		out = append(out, secretscan.Ruling{
			Object: d.Object, Key: d.Key, Path: d.Path, Keep: d.Decision == lcav1.SecretKeep, Reason: d.Reason,
		})
	}
	return out
}

// Bounds of what status shows: it has to stay far below what the API stores.
const (
	maxFound     = 20
	maxFoundText = 256
)

// secretsStatus is the beginning of the report. What recert renewed is counted alone.
func secretsStatus(r *seed.SecretReport) *lcav1.SeedSecretsStatus {
	count := func(d secretscan.Decision) int32 { return int32(r.Counts[d]) }
	out := &lcav1.SeedSecretsStatus{
		Objects: int32(r.Objects), Files: int32(r.Files), Removed: count(secretscan.Removed), Renewed: count(secretscan.Renewed),
		Kept: count(secretscan.Kept), Allowed: count(secretscan.Allowed), Refused: count(secretscan.Refused),
	}
	for _, f := range r.Found {
		if f.Decision == secretscan.Renewed || len(out.Found) == maxFound {
			continue
		}
		out.Found = append(out.Found, lcav1.SeedSecretFound{
			Object: clipText(f.Object), Key: clipText(f.Key), Path: clipText(f.Path),
			Rule: f.Rule, Decision: string(f.Decision), Reason: clipText(f.Reason),
		})
	}
	return out
}

func clipText(text string) string {
	if len(text) <= maxFoundText {
		return text
	}
	end := maxFoundText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
