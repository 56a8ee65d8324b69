package hostnet

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

// admits has the API server ask about owners as config/webhook has it ask, and an operator answer, over TLS.
func (w *world) admits() {
	w.t.Helper()
	at, authority := apitest.ServeWebhooks(w.t, func(server webhook.Server) {
		ServeOwners(server, w.api, func() string { return utilrand.String(10) })
	})
	text, err := os.ReadFile("../../../config/webhook/owners.yaml")
	require.NoError(w.t, err)
	asks := &admissionregistrationv1.MutatingWebhookConfiguration{}
	require.NoError(w.t, yaml.UnmarshalStrict(text, asks))
	url := at + *asks.Webhooks[0].ClientConfig.Service.Path
	asks.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: authority}
	require.NoError(w.t, w.api.Create(w.t.Context(), asks))
	w.t.Cleanup(func() { require.NoError(w.t, w.api.Delete(context.Background(), asks)) })
	w.eventually(func() bool {
		probe := w.unborn(w.pool+"-probe-", "ens4=", "")
		return w.api.Create(context.Background(), probe, client.DryRunAll) != nil
	}, "the API server asks")
}

// unborn is a machine as a MachineSet makes it, without a name.
func (w *world) unborn(prefix, networks, base string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"providerSpec": map[string]any{
		"value": map[string]any{"userData": map[string]any{"name": base}}}}}}
	o.SetGroupVersionKind(machineKind)
	o.SetNamespace(ns)
	o.SetGenerateName(prefix)
	o.SetAnnotations(map[string]string{NetworksAnnotation: networks})
	return o
}

// provision gives a machine a host at once, as the baremetal machine controller does: what the machine names now is what the
// host is provisioned with.
func (w *world) provision(m *unstructured.Unstructured) (config string) {
	w.t.Helper()
	config, _, _ = unstructured.NestedString(m.Object, "spec", "providerSpec", "value", "userData", "name")
	h := w.host("bmh-"+m.GetName(), m.GetName(), "provisioning")
	require.NoError(w.t, w.api.Patch(w.t.Context(), h, client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"userData":{"name":%q,"namespace":"default"}}}`, config))))
	return config
}

// delivered waits for the condition.
func (w *world) delivered(m *unstructured.Unstructured) (c map[string]any) {
	w.t.Helper()
	w.eventually(func() bool {
		if w.api.Get(context.Background(), client.ObjectKeyFromObject(m), m) != nil {
			return false
		}
		list, _, _ := unstructured.NestedSlice(m.Object, "status", "conditions")
		for _, entry := range list {
			if c = entry.(map[string]any); c["type"] == ConditionDelivered {
				return true
			}
		}
		return false
	}, "condition %s of %s", ConditionDelivered, m.GetName())
	return c
}

// TestAHostCannotBeginWithoutItsOwnConfig: twenty machines without a name get a host in the same moment, and each has its own.
func TestAHostCannotBeginWithoutItsOwnConfig(t *testing.T) {
	w := newWorld(t)
	w.admits()
	w.newPool(func(*metal3.IPPoolSpec) {})
	base := w.pool + "-user-data"
	w.secret(base, map[string][]byte{"userData": []byte(roleConfig)})
	configs := map[string]bool{}
	for range 20 {
		m := w.unborn(w.pool+"-", "ens4="+w.pool, base)
		require.NoError(t, w.api.Create(t.Context(), m))
		config := w.provision(m)
		require.NotEqual(t, base, config)
		require.False(t, configs[config], "each its own")
		configs[config] = true
		s := &corev1.Secret{}
		w.eventually(func() bool {
			return w.api.Get(context.Background(), types.NamespacedName{Namespace: ns, Name: config}, s) == nil
		}, "the Secret that the host waits for")
		require.True(t, metav1.IsControlledBy(s, m))
		paths := files(t, s.Data["userData"])
		require.Contains(t, paths, "/etc/role")
		require.Contains(t, paths, "/etc/NetworkManager/system-connections/lca-ens4.7.nmconnection")
		require.Equal(t, string(metav1.ConditionTrue), w.delivered(m)["status"])
	}
	require.Zero(t, testutil.ToFloat64(w.metrics.missed.WithLabelValues("Machine")))
}

// TestAHostThatBeganWithoutItsOwnConfigIsTold: without the webhook a host can be faster.
func TestAHostThatBeganWithoutItsOwnConfigIsTold(t *testing.T) {
	w := newWorld(t)
	w.secret(w.pool+"-user-data", map[string][]byte{"userData": []byte(roleConfig)})
	m := w.machine(w.pool+"-late", "ens4="+w.pool, w.pool+"-user-data") // the pool is not there yet
	require.Equal(t, w.pool+"-user-data", w.provision(m))
	w.newPool(func(*metal3.IPPoolSpec) {})
	c := w.delivered(m)
	require.Equal(t, string(metav1.ConditionFalse), c["status"])
	require.Equal(t, "StartedWithoutOwnConfig", c["reason"])
	require.Equal(t, fmt.Sprintf("host default/bmh-%s-late is provisioned without Secret %s-late-host-user-data, and so without its addresses; "+
		"provision it again", w.pool, w.pool), c["message"])
	w.eventually(func() bool { return testutil.ToFloat64(w.metrics.missed.WithLabelValues("Machine")) == 1 }, "counted once")
	name, _, _ := unstructured.NestedString(m.Object, "spec", "providerSpec", "value", "userData", "name")
	require.Equal(t, w.pool+"-user-data", name, "the machine still names what its host was given")
}

// TestAHostWithoutItsOwnConfigIsCountedOnce: also where the owner has no condition to remember it.
func TestAHostWithoutItsOwnConfigIsCountedOnce(t *testing.T) {
	w := newWorld(t)
	w.newPool(func(*metal3.IPPoolSpec) {})
	h := w.host(w.pool+"-bmh", "", "provisioned")
	counted := func() float64 { return testutil.ToFloat64(w.metrics.missed.WithLabelValues("BareMetalHost")) }
	annotate := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"ens4=%s"}}}`, NetworksAnnotation, w.pool)
	require.NoError(t, w.api.Patch(t.Context(), h, client.RawPatch(types.MergePatchType, annotate)))
	w.eventually(func() bool { return counted() == 1 }, "told")
	for i := range 5 {
		require.NoError(t, w.api.Patch(t.Context(), h, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"round":"%d"}}}`, i))))
	}
	apitest.RequireRest(t, "hostnet-baremetalhost.metal3.io")
	require.InDelta(t, 1, counted(), 0)
}

// TestAConfigThatCannotBeMergedIsRefusedAtAdmission: not at the boot of the host.
func TestAConfigThatCannotBeMergedIsRefusedAtAdmission(t *testing.T) {
	w := newWorld(t)
	w.admits()
	w.newPool(func(*metal3.IPPoolSpec) {})
	for text, want := range map[string]string{
		`{"ignition":{"version":"2.3.0"}}`: "userData is an Ignition config of version 2.3.0: addresses can be merged into versions 3.0.0 and later",
		"#cloud-config\n":                  "userData is a cloud-config or a script, not an Ignition config",
		"nonsense":                         "refused by Ignition",
	} {
		base := w.pool + utilrand.String(5)
		w.secret(base, map[string][]byte{"userData": []byte(text)})
		err := w.api.Create(t.Context(), w.unborn("x-", "ens4="+w.pool, base))
		require.ErrorContains(t, err, "base Secret default/"+base)
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, w.api.Create(t.Context(), w.unborn("x-", "ens4", "")), "is not of the form interface=pool")
	require.NoError(t, w.api.Create(t.Context(), w.unborn("x-", "ens4="+w.pool, "not-there-yet"), client.DryRunAll))
}

// TestAMetal3MachineNamesItsNetworkData: CAPM3 hands it to the host, unless the machine has some of its own.
func TestAMetal3MachineNamesItsNetworkData(t *testing.T) {
	w := newWorld(t)
	w.admits()
	for networks, want := range map[string]string{
		"00:11:22:33:44:55=" + w.pool: w.pool + "-m3-host-user-data",
		"ens4=" + w.pool:              "", // a config drive would not find it
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
		o.SetGroupVersionKind(metal3Machine)
		o.SetNamespace(ns)
		o.SetName(w.pool + "-m3")
		o.SetAnnotations(map[string]string{NetworksAnnotation: networks})
		require.NoError(t, w.api.Create(t.Context(), o, client.DryRunAll))
		name, _, _ := unstructured.NestedString(o.Object, "spec", "networkData", "name")
		require.Equal(t, want, name)
	}
}

// TestABaseConfigMayComeLate: a machine whose role's config does not exist yet is served soon after it does, however long that took.
func TestABaseConfigMayComeLate(t *testing.T) {
	w := newWorld(t)
	w.newPool(func(*metal3.IPPoolSpec) {})
	base := w.pool + "-user-data"
	m := w.machine(w.pool+"-early", "ens4="+w.pool, base)
	w.eventually(func() bool {
		result, err := w.reconciler.reconcileOwner(t.Context(), machineKind, client.ObjectKeyFromObject(m))
		return err == nil && result.RequeueAfter == baseRetry
	}, "a wait that does not grow")
	w.secret(base, map[string][]byte{"userData": []byte(roleConfig)})
	require.Contains(t, files(t, w.userData(m.GetName())), "/etc/role")
}

// A Secret that was lost is made anew for a host that runs with the former: what is in it may be something else.
func TestALostSecretOfAProvisionedHostIsReported(t *testing.T) {
	w := newWorld(t)
	w.newPool(func(*metal3.IPPoolSpec) {})
	w.secret(w.pool+"-user-data", map[string][]byte{"userData": []byte(`{"ignition":{"version":"3.2.0"}}`)})
	m := w.machine(w.pool+"-lost", "ens4="+w.pool, w.pool+"-user-data")
	w.userData(m.GetName())
	w.eventually(func() bool {
		require.NoError(t, w.api.Get(t.Context(), client.ObjectKeyFromObject(m), m))
		name, _, _ := unstructured.NestedString(m.Object, "spec", "providerSpec", "value", "userData", "name")
		return name == m.GetName()+ownSuffix
	}, "the machine uses its own config")
	require.Equal(t, m.GetName()+ownSuffix, w.provision(m))
	w.delivered(m)
	for len(w.recorded.Events) > 0 {
		require.NotContains(t, <-w.recorded.Events, "SecretMadeAnew")
	}
	lost := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: m.GetName() + ownSuffix}}
	require.NoError(t, w.api.Delete(t.Context(), lost))
	w.userData(m.GetName())
	w.eventually(func() bool {
		select {
		case e := <-w.recorded.Events:
			return strings.Contains(e, "SecretMadeAnew")
		default:
			return false
		}
	}, "an event says so")
}
