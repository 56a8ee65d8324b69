//go:build interop

package interop

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/hostnet"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/ipam"
)

// machines is how many there are in each order of creation.
const machines = 20

var (
	machineKind = schema.GroupVersionKind{Group: "machine.openshift.io", Version: "v1beta1", Kind: "Machine"}
	hostKind    = schema.GroupVersionKind{Group: "metal3.io", Version: "v1alpha1", Kind: "BareMetalHost"}
)

// With the real machine controller and the real baremetal-operator, no host is ever given another config than its own
// machine's, in whichever order the objects are made.
func TestEveryHostIsProvisionedWithItsOwnConfig(t *testing.T) {
	hosts, controller := open(t, "metal3-io/baremetal-operator"), open(t, "openshift/cluster-api-provider-baremetal")
	operator, machineController := program(t, "baremetal-operator"), program(t, "machine-controller-manager")
	s := shared.Server(t)
	var definitions [][]byte
	for _, name := range hosts.List("config/base/crds/bases", "metal3.io_*.yaml") {
		definitions = append(definitions, hosts.Read(name))
	}
	for _, name := range controller.List("config/crd", "*metal3remediation*.yaml") {
		definitions = append(definitions, controller.Read(name))
	}
	install(t, s, definitions...)
	serve(t, s)
	admit(t, s)
	kubeconfig := kubeconfigOf(t, s)
	launch(t, environment{"KUBECONFIG": kubeconfig}, operator, "-provisioner", "fixture", "-webhook-port", "0", "-metrics-addr", "0", "-health-addr", "127.0.0.1:0",
		"-kube-api-qps", "100", "-kube-api-burst", "200")
	launch(t, environment{"KUBECONFIG": kubeconfig}, machineController, "-webhook-enabled=false", "-metrics-addr", "0", "-health-addr", "127.0.0.1:0")
	for i, order := range []struct {
		name  string
		steps func(*fleetOfHosts)
	}{
		{"hosts, then machines", func(f *fleetOfHosts) { f.pool(); f.base(); f.hosts(); f.available(); f.machines() }},
		{"machines, then hosts", func(f *fleetOfHosts) { f.pool(); f.base(); f.machines(); f.hosts() }},
		{"machines before their pool", func(f *fleetOfHosts) { f.base(); f.hosts(); f.available(); f.machines(); f.pool() }},
		{"machines before the base Secret", func(f *fleetOfHosts) { f.pool(); f.hosts(); f.available(); f.machines(); f.base() }},
	} {
		t.Run(order.name, func(t *testing.T) {
			f := &fleetOfHosts{t: t, api: s.Client, namespace: fmt.Sprintf("order-%d", i)}
			require.NoError(t, f.api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}))
			f.watch(s)
			order.steps(f)
			f.judge()
		})
	}
}

// serve runs our operator's controllers of addresses and machines' configs.
func serve(t *testing.T, s *apitest.Server) {
	configuration, yes := rest.CopyConfig(s.Config), true
	configuration.QPS = -1
	mgr, err := ctrl.NewManager(configuration, ctrl.Options{Scheme: s.Scheme, Metrics: metrics.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &yes}})
	require.NoError(t, err)
	counted, err := ipam.NewMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	delivered, err := hostnet.NewMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	log, recorder := slog.New(slog.DiscardHandler), events.NewFakeRecorder(10_000)
	require.NoError(t, ipam.New(ipam.Options{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: recorder, Log: log, Metrics: counted,
		Now: time.Now}).SetupWithManager(mgr))
	r := &hostnet.Reconciler{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: recorder, Log: log, Metrics: delivered, Now: time.Now}
	for _, kind := range []schema.GroupVersionKind{hostnet.HostKind(), machineKind} {
		require.NoError(t, r.Add(mgr, kind))
	}
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = mgr.Start(ctx) })
	t.Cleanup(func() { stop(); done.Wait() })
}

// admit has the API server ask our webhook, as config/webhook has it ask.
func admit(t *testing.T, s *apitest.Server) {
	at, authority := apitest.ServeWebhooks(t, func(server webhook.Server) {
		hostnet.ServeOwners(server, s.Client, func() string { return utilrand.String(10) })
	})
	text, err := os.ReadFile("../../config/webhook/owners.yaml")
	require.NoError(t, err)
	asks := &admissionregistrationv1.MutatingWebhookConfiguration{}
	require.NoError(t, yaml.UnmarshalStrict(text, asks))
	url := at + *asks.Webhooks[0].ClientConfig.Service.Path
	asks.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: authority}
	require.NoError(t, s.Client.Create(t.Context(), asks))
	t.Cleanup(func() { require.NoError(t, s.Client.Delete(context.Background(), asks)) })
	require.Eventually(t, func() bool {
		probe := machine("default", "probe-", "not a pair", "base")
		return s.Client.Create(context.Background(), probe, client.DryRunAll) != nil
	}, deadline, tick, "the API server asks")
}

// kubeconfigOf writes how the API server is reached.
func kubeconfigOf(t *testing.T, s *apitest.Server) string {
	const name = "apitest"
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: s.Config.Host, CertificateAuthorityData: s.Config.CAData}
	c.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: s.Config.CertData, ClientKeyData: s.Config.KeyData, Token: s.Config.BearerToken}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	c.CurrentContext = name
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*c, file))
	return file
}

// fleetOfHosts is one order of creation, in a namespace of its own.
type fleetOfHosts struct {
	t         *testing.T
	api       client.Client
	namespace string

	mu sync.Mutex
	// given are all configs that a host was ever given.
	given map[string]map[string]bool
}

func (f *fleetOfHosts) pool() {
	first, last, gateway := metal3.IPAddressStr("172.22.0.10"), metal3.IPAddressStr("172.22.0.99"), metal3.IPAddressStr("172.22.0.1")
	require.NoError(f.t, f.api.Create(f.t.Context(), &metal3.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "storage"},
		Spec: metal3.IPPoolSpec{NamePrefix: "storage", Network: f.namespace, Prefix: 24, Gateway: &gateway, VLAN: new(int32(7)),
			Pools: []metal3.Pool{{Start: &first, End: &last}}}}))
}

const baseSecret = "worker-user-data"

func (f *fleetOfHosts) base() {
	require.NoError(f.t, f.api.Create(f.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: baseSecret},
		Data: map[string][]byte{"userData": []byte(`{"ignition":{"version":"3.2.0"}}`)}}))
}

func (f *fleetOfHosts) hosts() {
	for i := range machines {
		name := fmt.Sprintf("host-%02d", i)
		require.NoError(f.t, f.api.Create(f.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name + "-bmc"},
			Data: map[string][]byte{"username": []byte("admin"), "password": []byte("made-up")}}))
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"bmc":            map[string]any{"address": fmt.Sprintf("ipmi://192.0.2.%d", i+1), "credentialsName": name + "-bmc"},
			"bootMACAddress": fmt.Sprintf("00:5c:52:31:3a:%02x", i), "online": false, "automatedCleaningMode": "disabled"}}}
		o.SetGroupVersionKind(hostKind)
		o.SetNamespace(f.namespace)
		o.SetName(name)
		require.NoError(f.t, f.api.Create(f.t.Context(), o))
	}
}

// machine is one as a MachineSet makes it, without a name.
func machine(namespace, prefix, networks, base string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"providerSpec": map[string]any{"value": map[string]any{
		"apiVersion": "baremetal.cluster.k8s.io/v1alpha1", "kind": "BareMetalMachineProviderSpec",
		"image":    map[string]any{"url": "http://images.example.com/rhcos.qcow2", "checksum": "http://images.example.com/rhcos.qcow2.md5"},
		"userData": map[string]any{"name": base, "namespace": namespace}}}}}}
	o.SetGroupVersionKind(machineKind)
	o.SetNamespace(namespace)
	o.SetGenerateName(prefix)
	o.SetAnnotations(map[string]string{hostnet.NetworksAnnotation: networks})
	o.SetLabels(map[string]string{"machine.openshift.io/cluster-api-cluster": "interop"})
	return o
}

func (f *fleetOfHosts) machines() {
	for range machines {
		require.NoError(f.t, f.api.Create(f.t.Context(), machine(f.namespace, "worker-", "ens4=storage", baseSecret)))
	}
}

func (f *fleetOfHosts) list(kind schema.GroupVersionKind) []unstructured.Unstructured {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	require.NoError(f.t, f.api.List(context.Background(), list, client.InNamespace(f.namespace)))
	return list.Items
}

func (f *fleetOfHosts) states() map[string]int {
	out := map[string]int{}
	for _, h := range f.list(hostKind) {
		state, _, _ := unstructured.NestedString(h.Object, "status", "provisioning", "state")
		out[state]++
	}
	return out
}

func (f *fleetOfHosts) await(state string) {
	f.t.Helper()
	// The machine controller tries again after 30 seconds where there was no host, one machine at a time.
	for end := time.Now().Add(5 * deadline); f.states()[state] < machines; time.Sleep(tick) {
		if time.Now().After(end) {
			f.t.Fatalf("hosts are %v, and all were to be %s", f.states(), state)
		}
	}
}

func (f *fleetOfHosts) available() { f.await("available") }

// watch records every config that a host is ever given.
func (f *fleetOfHosts) watch(s *apitest.Server) {
	api, err := client.NewWithWatch(s.Config, client.Options{Scheme: s.Scheme})
	require.NoError(f.t, err)
	f.given = map[string]map[string]bool{}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(hostKind)
	w, err := api.Watch(f.t.Context(), list, client.InNamespace(f.namespace))
	require.NoError(f.t, err)
	var done sync.WaitGroup
	done.Go(func() {
		for e := range w.ResultChan() {
			if h, ok := e.Object.(*unstructured.Unstructured); ok {
				f.record(h)
			}
		}
	})
	f.t.Cleanup(func() { w.Stop(); done.Wait() })
}

func (f *fleetOfHosts) record(h *unstructured.Unstructured) {
	name, _, _ := unstructured.NestedString(h.Object, "spec", "userData", "name")
	if name == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.given[h.GetName()] == nil {
		f.given[h.GetName()] = map[string]bool{}
	}
	f.given[h.GetName()][name] = true
}

// judge waits until all hosts are provisioned, and says which had only their own config.
func (f *fleetOfHosts) judge() {
	f.await("provisioned")
	owns := map[string]string{}
	for _, m := range f.list(machineKind) {
		owns[m.GetName()] = m.GetAnnotations()[hostnet.SecretAnnotation]
	}
	seen, served := map[string]bool{}, 0
	for _, h := range f.list(hostKind) {
		f.record(&h)
		consumer, _, _ := unstructured.NestedString(h.Object, "spec", "consumerRef", "name")
		own := owns[consumer]
		require.NotEmpty(f.t, own, "the machine of host %s names its own Secret", h.GetName())
		f.mu.Lock()
		given := slices.Sorted(maps.Keys(f.given[h.GetName()]))
		f.mu.Unlock()
		require.Equal(f.t, []string{own}, given, "host %s was never given another config", h.GetName())
		require.False(f.t, seen[own], "each its own")
		seen[own] = true
		require.Eventually(f.t, func() bool {
			secret := &corev1.Secret{}
			err := f.api.Get(context.Background(), types.NamespacedName{Namespace: f.namespace, Name: own}, secret)
			return err == nil && len(secret.Data["userData"]) > 0
		}, deadline, tick, "Secret %s", own)
		served++
	}
	f.t.Logf("%d of %d hosts were provisioned with their own config", served, machines)
	require.Equal(f.t, machines, served)
}
