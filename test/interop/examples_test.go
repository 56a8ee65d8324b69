//go:build interop

package interop

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/review"
)

// reviewPolicy judges a network policy as the webhook does.
func reviewPolicy(o *unstructured.Unstructured) error {
	p := &nmstatev1.NodeNetworkConfigurationPolicy{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, p); err != nil {
		return err
	}
	if problems := review.Check(p); len(problems) > 0 {
		return problems
	}
	return nil
}

// refused are examples that our validation refuses, with what it says: a part of nmstate that the product does not support.
var refused = map[string]string{
	"docs/examples/per-interface-ipv4-forwarding.yaml": "interfaces[eth1].ipv4: forwarding is part of nmstate, and this product does not support it",
}

// kubernetes-nmstate's example policies are taken as they are, by our definition and by our validation.
func TestPoliciesOfKubernetesNmstate(t *testing.T) {
	src := open(t, "nmstate/kubernetes-nmstate")
	s := shared.Server(t)
	names := append(src.List("docs/examples", "*.yaml"), src.List("docs/user-guide", "*.yaml")...)
	taken := 0
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			for _, o := range objects(t, src.Read(name)) {
				require.Equal(t, "NodeNetworkConfigurationPolicy", o.GetKind())
				require.NoError(t, strict(s).Create(t.Context(), o.DeepCopy(), client.DryRunAll))
				if why, expected := refused[name]; expected {
					require.ErrorContains(t, reviewPolicy(o), why)
					continue
				}
				require.NoError(t, reviewPolicy(o))
				taken++
			}
		})
	}
	t.Logf("%d policies taken unchanged, %d refused", taken, len(refused))
}

// lifecycle-agent's samples and the IPConfigs of its documentation are taken as they are.
func TestSamplesOfLifecycleAgent(t *testing.T) {
	src := open(t, "openshift-kni/lifecycle-agent")
	s := shared.Server(t)
	var all []*unstructured.Unstructured
	for _, name := range src.List("config/samples", "lca_v1_seedgenerator.yaml") {
		all = append(all, objects(t, src.Read(name))...)
	}
	for _, block := range regexp.MustCompile("(?s)```ya?ml\n(.*?)```").FindAllSubmatch(src.Read("docs/ip-configuration.md"), -1) {
		for _, o := range objects(t, block[1]) {
			if o.GetKind() == "IPConfig" && o.Object["spec"] != nil {
				all = append(all, o)
			}
		}
	}
	kinds := map[string]int{}
	for _, o := range all {
		if o.GetKind() == "IPConfig" { // those of the page ask for stage Config; a new object begins in Idle
			require.NoError(t, unstructured.SetNestedField(o.Object, "Idle", "spec", "stage"))
			unstructured.RemoveNestedField(o.Object, "spec", "dnsFilterOutFamily")
			unstructured.RemoveNestedField(o.Object, "status")
		}
		require.NoError(t, strict(s).Create(t.Context(), o, client.DryRunAll), "%v", o.Object)
		kinds[o.GetKind()]++
	}
	t.Logf("taken: %v", kinds)
	require.NotZero(t, kinds["IPConfig"])
	require.NotZero(t, kinds["SeedGenerator"])
}

// metal3's example of a pool with its claims is taken as it is.
func TestPoolsOfMetal3(t *testing.T) {
	src := open(t, "metal3-io/ip-address-manager")
	s := shared.Server(t)
	text := strings.ReplaceAll(string(src.Read("examples/ippool/ippool.yaml")), "${NAMESPACE}", "default")
	kinds := map[string]int{}
	for _, o := range objects(t, []byte(text)) {
		if o.GetKind() == "Namespace" {
			continue
		}
		if o.GetNamespace() == "" {
			o.SetNamespace("default")
		}
		require.NoError(t, strict(s).Create(t.Context(), o, client.DryRunAll), "%s %s", o.GetKind(), o.GetName())
		kinds[o.GetKind()]++
	}
	require.Equal(t, map[string]int{"IPPool": 1, "IPClaim": 1, "IPAddressClaim": 1}, kinds)
}
