package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/fleet"
)

// hubModule carries the real definitions of Open Cluster Management.
const hubModule = "open-cluster-management.io/api"

var shared = apitest.New(apitest.Options{
	CRDs: []string{"lca.openshift.io_ipconfigs.yaml", apitest.Nmstate},
	ModuleCRDs: map[string][]string{hubModule: {
		"work/v1/*_manifestworks.crd.yaml", "work/v1alpha1/*_manifestworkreplicasets.crd.yaml", "cluster/v1beta1/*_placements.crd.yaml",
	}},
	// A ManifestWork's objects are judged by the cluster that gets them, not by the hub.
	Edit: func(*apiextensionsv1.CustomResourceDefinition) {},
})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

func server(t testing.TB) *apitest.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("reason: needs an API server; run without -short")
	}
	return shared.Server(t)
}

// objects decodes what was rendered.
func objects(t testing.TB, files []fleet.File) (out []*unstructured.Unstructured) {
	t.Helper()
	for _, f := range files {
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(f.Data), 4096)
		for {
			o := &unstructured.Unstructured{}
			err := decoder.Decode(&o.Object)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, f.Name)
			out = append(out, o)
		}
	}
	return out
}

func namespaces(t testing.TB, api client.Client, names ...string) {
	t.Helper()
	for _, name := range names {
		err := api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		require.True(t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
	}
}

// What is rendered has no field that the real definitions do not know, and none that they refuse.
func TestWorksPassTheRealDefinitions(t *testing.T) {
	s := server(t)
	strict := client.WithFieldValidation(s.Client, metav1.FieldValidationStrict)
	namespaces(t, s.Client, "lca-fleet", "site-001", "site-002")
	const common = "apiVersion: nmstate.io/v1\nkind: NodeNetworkConfigurationPolicy\nmetadata: {name: mtu}\nspec:\n  desiredState:\n    interfaces: [{name: eno2, type: ethernet, state: up, mtu: 9000}]\n"
	made, err := sites(t, "cluster,canary,ipv4Address,storageVLAN,storageIP\nsite-001,yes,192.0.2.10,12,192.0.2.7\nsite-002,,192.0.2.11,13,192.0.2.8\n", vlanTemplate, common)
	require.NoError(t, err)
	files, err := rollout().Works(made)
	require.NoError(t, err)
	kinds := map[string]int{}
	for _, o := range objects(t, files) {
		require.NoError(t, strict.Create(t.Context(), o), "%s %s", o.GetKind(), o.GetName())
		t.Cleanup(func() { require.NoError(t, client.IgnoreNotFound(s.Client.Delete(context.Background(), o))) })
		kinds[o.GetKind()]++
	}
	require.Equal(t, map[string]int{"ManifestWork": 2, "ManifestWorkReplicaSet": 1, "Placement": 1}, kinds)
}

// What the table's checks let pass, the cluster takes; what the cluster refuses, they refuse by row and column.
func TestRowsAreJudgedAsTheClusterJudgesThem(t *testing.T) {
	s := server(t)
	s.DeleteIPConfig(t)
	idle := &lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Name: lcav1.IPConfigName}, Spec: lcav1.IPConfigSpec{Stage: lcav1.StageIdle}}
	require.NoError(t, s.Client.Create(t.Context(), idle))
	idle.Status = lcav1.IPConfigStatus{ValidNextStages: []lcav1.IPConfigStage{lcav1.StageConfig},
		IPv4: &lcav1.IPStatus{Address: "192.0.2.9"}, IPv6: &lcav1.IPStatus{Address: "2001:db8::9"},
		Conditions: []metav1.Condition{{Type: lcav1.ConditionIdle, Status: metav1.ConditionTrue, Reason: lcav1.ReasonIdle, LastTransitionTime: metav1.Now()}}}
	require.NoError(t, s.Client.Status().Update(t.Context(), idle))
	asked := func(spec lcav1.IPConfigSpec) error {
		ipc := idle.DeepCopy()
		ipc.Spec = spec
		return s.Client.Update(t.Context(), ipc, client.DryRunAll)
	}
	for _, row := range []string{
		"192.0.2.10,192.0.2.0/24,192.0.2.1,,,,192.0.2.53,5", "192.0.2.10,,,,,,,", ",,,2001:db8::10,2001:db8::/64,fe80::1,2001:db8::53,0",
		"192.0.2.10,,192.0.2.1,2001:db8::10,,,,4094", "192.0.2.0,192.0.2.0/31,,,,,,", ",,,2001:db8::,2001:db8::/127,,,",
	} {
		made, err := sites(t, "cluster,ipv4Address,ipv4MachineNetwork,ipv4Gateway,ipv6Address,ipv6MachineNetwork,ipv6Gateway,dnsServers,vlanID\na,"+row+"\n")
		require.NoError(t, err, row)
		require.NoError(t, asked(*made[0].IPConfig), row)
	}
	four := func(address, network, gateway string) lcav1.IPConfigSpec {
		return lcav1.IPConfigSpec{Stage: lcav1.StageConfig, IPv4: &lcav1.IPv4Config{Address: address, MachineNetwork: network, Gateway: gateway}}
	}
	for _, c := range [][3]string{
		{"240.0.0.1"}, {"0.0.0.1"}, {"127.0.0.1"}, {"224.0.0.1"}, {"2001:db8::1"}, {"192.0.2.10/24"}, {"192.0.2.10", "192.0.2.1/24"},
		{"192.0.2.10", "198.51.100.0/24"}, {"192.0.2.0", "192.0.2.0/24"}, {"192.0.2.10", "192.0.2.0/24", "192.0.2.10"},
		{"192.0.2.10", "192.0.2.0/24", "198.51.100.1"}, {"192.0.2.10", "", "x"},
	} {
		_, err := sites(t, fmt.Sprintf("cluster,ipv4Address,ipv4MachineNetwork,ipv4Gateway\na,%s,%s,%s\n", c[0], c[1], c[2]))
		var problems fleet.Problems
		require.ErrorAs(t, err, &problems, "%v", c)
		require.Equal(t, 2, problems[0].Row)
		require.True(t, apierrors.IsInvalid(asked(four(c[0], c[1], c[2]))), "the cluster refuses %v, too", c)
	}
}

// What a policy's template reads for a cluster is a spec that the cluster takes.
func TestValuesOfAClusterAreSpecs(t *testing.T) {
	s := server(t)
	made, err := sites(t, "cluster,storageVLAN,storageIP\na,12,192.0.2.7\n", vlanTemplate)
	require.NoError(t, err)
	files, err := rollout().Policies(made)
	require.NoError(t, err)
	values := objects(t, files[:1])[0]
	text, found, err := unstructured.NestedString(values.Object, "data", "NodeNetworkConfigurationPolicy.storage")
	require.NoError(t, err)
	require.True(t, found)
	policy := made[0].Objects[0].DeepCopy()
	var spec map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &spec))
	policy.Object["spec"] = spec
	strict := client.WithFieldValidation(s.Client, metav1.FieldValidationStrict)
	require.NoError(t, strict.Create(t.Context(), policy, client.DryRunAll))
}

// meter counts what goes to the API server and comes back.
type meter struct {
	next   http.RoundTripper
	mu     sync.Mutex
	counts cost
}

type cost struct{ requests, bytes int64 }

func (m *meter) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := m.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.requests++
	m.counts.bytes += r.ContentLength + int64(len(body))
	return response, nil
}

// hub is the API server of a hub for one number of clusters, with what the policies framework adds left out.
func hub(t testing.TB) (client.Client, *meter) {
	t.Helper()
	s := server(t)
	m := &meter{}
	configuration := rest.CopyConfig(s.Config)
	configuration.QPS = -1
	configuration.Wrap(func(next http.RoundTripper) http.RoundTripper {
		m.next = next
		return m
	})
	api, err := client.New(configuration, client.Options{Scheme: s.Scheme})
	require.NoError(t, err)
	return api, m
}

// fleetOf is a table of n clusters whose rows all have the same length.
func fleetOf(n int) string {
	var out bytes.Buffer
	out.WriteString("cluster,ipv4Address,storageVLAN,storageIP\n")
	for i := range n {
		fmt.Fprintf(&out, "site-%05d,10.%03d.%03d.100,1234,172.16.100.100\n", i, 100+i/100, 100+i%100)
	}
	return out.String()
}

// carried applies a roll-out of n clusters and returns what it cost, then applies it again, which must change nothing.
func carried(t testing.TB, render func([]fleet.Site) ([]fleet.File, error), n int) cost {
	t.Helper()
	api, m := hub(t)
	made, err := sites(t, fleetOf(n), vlanTemplate)
	require.NoError(t, err)
	files, err := render(made)
	require.NoError(t, err)
	var all []*unstructured.Unstructured
	for _, o := range objects(t, files) {
		if g := o.GroupVersionKind().Group; g == "policy.open-cluster-management.io" || g == "ran.openshift.io" {
			continue // their number does not depend on the number of clusters
		}
		all = append(all, o)
	}
	names := []string{"lca-fleet"}
	for _, o := range all {
		names = append(names, o.GetNamespace())
	}
	namespaces(t, shared.Server(t).Client, names...)
	apply := func() map[string]string {
		versions := map[string]string{}
		for _, o := range all {
			c := o.DeepCopy()
			require.NoError(t, api.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(c), client.FieldOwner("fleet"), client.ForceOwnership))
			versions[c.GetKind()+"/"+c.GetNamespace()+"/"+c.GetName()] = c.GetResourceVersion()
		}
		return versions
	}
	_, err = api.RESTMapper().RESTMapping(all[0].GroupVersionKind().GroupKind()) // discovery is no cost of a cluster
	require.NoError(t, err)
	first := m.counts
	before := apply()
	once := cost{m.counts.requests - first.requests, m.counts.bytes - first.bytes}
	require.Equal(t, before, apply(), "applied again, nothing is written")
	for _, o := range all {
		require.NoError(t, client.IgnoreNotFound(api.Delete(t.Context(), o)))
	}
	return once
}

// The cost of one more cluster is the same, however many there are.
func TestCostPerClusterIsFlat(t *testing.T) {
	for name, render := range map[string]func([]fleet.Site) ([]fleet.File, error){"policies": rollout().Policies, "works": rollout().Works} {
		few, some, many := carried(t, render, 5), carried(t, render, 15), carried(t, render, 45)
		early := cost{(some.requests - few.requests) / 10, (some.bytes - few.bytes) / 10}
		late := cost{(many.requests - some.requests) / 30, (many.bytes - some.bytes) / 30}
		require.Equal(t, int64(1), early.requests, "%s: one request for a cluster", name)
		require.Equal(t, int64(1), late.requests, "%s: one request for a cluster", name)
		require.InEpsilon(t, early.bytes, late.bytes, 0.05, "%s", name)
	}
}

// BenchmarkFleet prints the cost of a fleet.
func BenchmarkFleet(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		for _, by := range []struct {
			name   string
			render func([]fleet.Site) ([]fleet.File, error)
		}{{"policies", rollout().Policies}, {"works", rollout().Works}} {
			b.Run(fmt.Sprintf("%s/%d", by.name, n), func(b *testing.B) {
				for range b.N {
					c := carried(b, by.render, n)
					b.ReportMetric(float64(c.requests)/float64(n), "requests/cluster")
					b.ReportMetric(float64(c.bytes)/float64(n), "bytes/cluster")
				}
			})
		}
	}
}
