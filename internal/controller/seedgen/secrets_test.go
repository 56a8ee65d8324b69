package seedgen

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/secretscan"
)

// Status stays small however much was found, and shows first what needs a decision.
func TestStatusShowsTheFirstSecrets(t *testing.T) {
	r := &seed.SecretReport{OperationID: "op"}
	r.Objects, r.Files = 100000, 20000
	for i := range 5000 {
		r.Found = append(r.Found,
			secretscan.Found{Rule: "private-key", Object: fmt.Sprintf("secrets/a/renewed-%d", i), Decision: secretscan.Renewed, Reason: "r"},
			secretscan.Found{Rule: "token-forge", Path: "/etc/" + strings.Repeat("ä", 1000) + fmt.Sprint(i), Decision: secretscan.Removed, Reason: strings.Repeat("x", 1000)})
	}
	r.Found = append(r.Found, secretscan.Found{Rule: "keyword", Object: "secrets/a/b", Key: "password", Decision: secretscan.Refused, Reason: "r"})
	r.Finish()
	s := secretsStatus(r)
	require.Equal(t, int32(5000), s.Renewed)
	require.Equal(t, int32(5000), s.Removed)
	require.Equal(t, int32(1), s.Refused)
	require.Len(t, s.Found, 20)
	require.Equal(t, lcav1.SeedSecretFound{Object: "secrets/a/b", Key: "password", Rule: "keyword", Decision: "refused", Reason: "r"}, s.Found[0])
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.Less(t, len(text), 16<<10)
}

func TestDecisionsReachTheRequest(t *testing.T) {
	got := rulingsOf([]lcav1.SecretDecision{
		{Object: "secrets/app/*", Key: "password", Decision: lcav1.SecretKeep, Reason: "of a demo"},
		{Path: "/etc/app/**", Decision: lcav1.SecretRemove, Reason: "of the seed"},
	})
	require.Equal(t, []secretscan.Ruling{{Object: "secrets/app/*", Key: "password", Keep: true, Reason: "of a demo"}, {Path: "/etc/app/**", Reason: "of the seed"}}, got)
	for _, r := range got {
		require.Empty(t, r.Problem())
	}
}
