package lca_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

func TestOnlyOneNameIsAllowed(t *testing.T) {
	server := newSingleton(t)
	other := &lcav1.IPConfig{
		ObjectMeta: metav1.ObjectMeta{Name: "other"},
		Spec:       lcav1.IPConfigSpec{Stage: lcav1.StageIdle},
	}
	requireAnswer(t, server.Client.Create(context.Background(), other), &refusal{"<nil>",
		"IPConfig is a singleton: metadata.name must be 'ipconfig'; rename the object or edit the existing one"})
}

func TestStageAtCreation(t *testing.T) {
	notIdle := &refusal{"spec.stage", "spec.stage must be Idle when the IPConfig is created; create it with stage Idle, " +
		"wait until status.validNextStages lists the stage you want, then request it"}
	tests := []struct {
		name, spec string
		want       *refusal
	}{
		{"Idle", `{stage: Idle}`, nil},
		{"Idle with a network", `{stage: Idle, ipv4: {address: 192.0.2.10}, vlanID: 7}`, nil},
		{"Config", `{stage: Config}`, notIdle},
		{"Rollback", `{stage: Rollback}`, notIdle},
		{"unknown", `{stage: Prepare}`, &refusal{"spec.stage", `Unsupported value: "Prepare": supported values: "Idle", "Config", "Rollback"`}},
		{"wrong case", `{stage: idle}`, &refusal{"spec.stage", `Unsupported value: "idle": supported values: "Idle", "Config", "Rollback"`}},
		{"empty", `{stage: ""}`, &refusal{"spec.stage", `Unsupported value: "": supported values: "Idle", "Config", "Rollback"`}},
		{"missing", `{}`, &refusal{"spec.stage", "Required value"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			requireAnswer(t, newSingleton(t).create(t, test.spec), test.want)
		})
	}
}

func TestSpecIsRequired(t *testing.T) {
	server := newSingleton(t)
	object := named()
	patch := client.RawPatch("application/apply-patch+yaml",
		[]byte(`{"apiVersion":"lca.openshift.io/v1","kind":"IPConfig","metadata":{"name":"ipconfig"}}`))
	err := server.Client.Patch(context.Background(), object, patch, client.FieldOwner("test"))
	requireAnswer(t, err, &refusal{"spec", "Required value"})
}

// A user can not get around the list of valid stages by deleting the object
// and creating it again in the stage that was refused.
func TestDeletingAndCreatingAgainBypassesNothing(t *testing.T) {
	server := newSingleton(t)
	server.mustCreate(t, `{stage: Idle, ipv4: {address: 192.0.2.10}}`)
	server.observe(t, status(idle, addresses4, ready))
	require.NoError(t, server.patch(t, `spec: {stage: Config}`))
	server.observe(t, status(busy, `validNextStages: []`))
	server.DeleteIPConfig(t)

	require.Error(t, server.create(t, `{stage: Config, ipv4: {address: 192.0.2.10}}`))
	require.Error(t, server.create(t, `{stage: Rollback}`))
	server.mustCreate(t, `{stage: Idle, ipv4: {address: 192.0.2.10}}`)
	requireAnswer(t, server.patch(t, `spec: {stage: Config}`), &refusal{"spec.stage",
		"spec.stage can not change from Idle to Config now; status.validNextStages is empty, so wait until the agent lists a stage there"})
	server.observe(t, status(idle, ready))
	require.NoError(t, server.patch(t, `spec: {stage: Config}`))
}

// The status that a client sends along when it creates the object is dropped,
// so that only the operator says which stages are valid.
func TestStatusAtCreationIsDropped(t *testing.T) {
	server := newSingleton(t)
	object := named()
	object.Spec.Stage = lcav1.StageIdle
	object.Status.ValidNextStages = []lcav1.IPConfigStage{lcav1.StageRollback}
	require.NoError(t, server.Client.Create(context.Background(), object))
	require.Error(t, server.patch(t, `spec: {stage: Rollback}`))
}
