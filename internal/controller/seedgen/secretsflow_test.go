package seedgen

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/secretscan"
)

// TestSecretsThatNeedADecisionAreReported: what was found is in status although nothing was published, and a decision is one edit.
func TestSecretsThatNeedADecisionAreReported(t *testing.T) {
	shared.Server(t)
	w := newWorld(t)
	w.credentials(false)
	bad := &lcav1.SeedGenerator{ObjectMeta: metav1.ObjectMeta{Name: lcav1.SeedGeneratorName}, Spec: lcav1.SeedGeneratorSpec{SeedImage: image}}
	for says, d := range map[string]lcav1.SecretDecision{
		"needs object or path":     {Decision: lcav1.SecretKeep, Reason: "r"},
		"and not both":             {Object: "secrets/a/b", Path: "/etc/x", Decision: lcav1.SecretKeep, Reason: "r"},
		"has key only with object": {Path: "/etc/x", Key: "k", Decision: lcav1.SecretKeep, Reason: "r"},
		"must be absolute":         {Path: "etc/x", Decision: lcav1.SecretKeep, Reason: "r"},
		"Unsupported value":        {Path: "/etc/x", Decision: "Ship", Reason: "r"},
		"at least 1":               {Path: "/etc/x", Decision: lcav1.SecretKeep},
	} {
		bad.Spec.SecretDecisions = []lcav1.SecretDecision{d}
		require.ErrorContains(t, w.api.Create(t.Context(), bad), says)
	}
	w.ask()
	w.until(lcav1.SeedImaging)
	report := seed.SecretReport{OperationID: w.record().OperationID}
	report.Found = []secretscan.Found{{Rule: "keyword", Object: "secrets/app/db", Key: "password", Decision: secretscan.Refused, Reason: "a value that is named like a secret"}}
	report.Finish()
	data, err := json.Marshal(report)
	require.NoError(t, err)
	w.node.files[seed.SecretsFile] = data
	w.undoes("refused: the image is not published: " + report.Refusal())
	sg := w.until(lcav1.SeedFailed)
	require.Equal(t, int32(1), sg.Status.Secrets.Refused)
	require.Equal(t, "secrets/app/db", sg.Status.Secrets.Found[0].Object)
	require.Contains(t, condition(sg, lcav1.ConditionSeedGenCompleted).Message, "secrets/app/db key password (keyword); decide about each in spec.secretDecisions")
	w.rest()

	sg = w.get()
	sg.Spec.SecretDecisions = []lcav1.SecretDecision{{Object: "secrets/app/*", Decision: lcav1.SecretKeep, Reason: "of a demo"}}
	require.NoError(t, w.api.Update(t.Context(), sg))
	sg = w.until(lcav1.SeedImaging)
	require.Nil(t, sg.Status.Secrets, "those of another operation are not shown")
	request, err := seed.ReadRequest(w.node)
	require.NoError(t, err)
	require.Equal(t, []secretscan.Ruling{{Object: "secrets/app/*", Keep: true, Reason: "of a demo"}}, request.Rulings)
}
