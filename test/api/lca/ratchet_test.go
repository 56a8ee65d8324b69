package lca_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// An object stored under looser rules than today's must stay usable: whoever
// does not touch the offending field may still label it, write its status and
// change its stage.
func TestObjectsOlderThanTheRulesStayUsable(t *testing.T) {
	server := newSingleton(t)
	withoutRules(t, server, func() {
		server.mustCreate(t, `{stage: Idle, vlanID: 4095,
		  ipv4: {address: 198.51.100.10/24, machineNetwork: 192.0.2.7/24, gateway: 192.0.2.300},
		  ipv6: {address: "::1", machineNetwork: "2001:db8::/64"},
		  dnsServers: [dns.example.com, 192.0.2.53, 192.0.2.53], dnsFilterOutFamily: ipv4,
		  autoRollbackOnFailure: {initMonitorTimeoutSeconds: -5}}`)
	})

	require.NoError(t, server.patch(t, `metadata: {labels: {a: b}}`))
	server.observe(t, status(busy, addresses4, `validNextStages: [Rollback]`))
	require.NoError(t, server.patch(t, `spec: {stage: Rollback}`))
	server.observe(t, status(idle, `validNextStages: [Idle]`))
	require.NoError(t, server.patch(t, `spec: {stage: Idle}`))
	require.NoError(t, server.patch(t, `metadata: {annotations: {a: b}}`))

	t.Run("touched fields are checked", func(t *testing.T) {
		require.Error(t, server.patch(t, `spec: {vlanID: 4096}`))
		require.Error(t, server.patch(t, `spec: {ipv4: {gateway: 192.0.2.301}}`))
		require.Error(t, server.patch(t, `spec: {dnsServers: [dns.example.org]}`))
	})
	t.Run("fields can be repaired one by one", func(t *testing.T) {
		for _, repair := range []string{
			`{vlanID: 100}`,
			`{autoRollbackOnFailure: {initMonitorTimeoutSeconds: 0}}`,
			`{dnsServers: [192.0.2.53]}`,
			`{dnsFilterOutFamily: none}`,
			`{ipv6: null}`,
			`{ipv4: {address: 192.0.2.10, machineNetwork: 192.0.2.0/24, gateway: 192.0.2.1}}`,
		} {
			require.NoError(t, server.patch(t, `spec: `+repair), repair)
		}
	})
}

// withoutRules runs work while the definition has no CEL rules, and returns
// when the server enforces them again.
func withoutRules(t *testing.T, server singleton, work func()) {
	t.Helper()
	ctx := context.Background()
	key := client.ObjectKey{Name: "ipconfigs.lca.openshift.io"}
	original := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, server.Client.Get(ctx, key, original))
	replace := func(edit func(*apiextensionsv1.JSONSchemaProps)) {
		t.Helper()
		require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := server.Client.Get(ctx, key, crd); err != nil {
				return err
			}
			crd.Spec = *original.Spec.DeepCopy()
			edit(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
			return server.Client.Update(ctx, crd)
		}))
	}
	probe := func() error {
		other := &lcav1.IPConfig{Spec: lcav1.IPConfigSpec{Stage: lcav1.StageConfig}}
		other.Name = lcav1.IPConfigName + "-probe"
		return server.Client.Create(ctx, other, client.DryRunAll)
	}
	enforced := func() bool { return apierrors.IsInvalid(probe()) }
	dropped := func() bool { return probe() == nil }
	restore := func() {
		t.Helper()
		replace(func(*apiextensionsv1.JSONSchemaProps) {})
		require.Eventually(t, enforced, 2*time.Minute, 50*time.Millisecond, "the rules are not enforced again")
	}
	t.Cleanup(restore)
	replace(dropRules)
	require.Eventually(t, dropped, 2*time.Minute, 50*time.Millisecond, "the rules are still enforced")
	work()
	restore()
}

// dropRules removes the CEL rules from a schema and everything below it.
func dropRules(schema *apiextensionsv1.JSONSchemaProps) {
	schema.XValidations = nil
	for name, property := range schema.Properties {
		dropRules(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		dropRules(schema.Items.Schema)
	}
}
