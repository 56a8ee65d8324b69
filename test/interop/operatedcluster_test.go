//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd/etcdtest"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
)

// operatedCluster is a lab cluster with some of OpenShift's operators.
type operatedCluster struct {
	*labCluster
	operators []operator
	sources   []source
	kubelet   *staticPodKubelet
	running   []*process
	rest      func()
}

func newOperatedCluster(t *testing.T, at cluster.Site, operators ...operator) *operatedCluster {
	t.Helper()
	c := &operatedCluster{operators: operators, kubelet: newStaticPodKubelet()}
	for _, o := range operators {
		c.sources = append(c.sources, open(t, "openshift/"+o.name))
		c.kubelet.programs[o.name] = program(t, o.name)
		if o.pod != "" {
			c.kubelet.pods[o.pod] = o.manifest
		}
	}
	c.labCluster = newLabCluster(t, at)
	c.kubelet.c = c.labCluster
	t.Cleanup(c.stopOperators)
	return c
}

// installed are the kinds of an operator's own manifests that a cluster version operator would create and this cluster has a use for.
var installed = []string{"Namespace", "ServiceAccount", "Service", "ConfigMap", "Etcd", "KubeAPIServer", "KubeControllerManager", "ServiceCA"}

// furnish creates what the operators find in a cluster, from their own manifests; those of a cluster with several nodes are left out.
func (c *operatedCluster) furnish() {
	c.t.Helper()
	for _, namespace := range []string{"openshift-machine-api", "openshift-authentication", "openshift-oauth-apiserver", "openshift-monitoring",
		"openshift-etcd-operator", "openshift-kube-controller-manager", "openshift-service-ca"} {
		c.create(&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	for _, s := range c.sources {
		for _, file := range s.List("manifests", "*.yaml") {
			for _, o := range objects(c.t, s.Read(file)) {
				if slices.Contains(installed, o.GetKind()) {
					c.create(o)
				}
			}
		}
	}
	bundle := configMap("openshift-config-managed", "interop-bundle")
	bundle.Annotations = map[string]string{"service.beta.openshift.io/inject-cabundle": "true"}
	require.NoError(c.t, c.Client.Create(c.t.Context(), bundle))
	c.copyToManaged(configMap("openshift-kube-apiserver", "sa-token-signing-certs"), "sa-token-signing-certs")
	c.copyToManaged(configMap("openshift-kube-apiserver", "bound-sa-token-signing-certs"), "bound-sa-token-signing-certs")
	c.copyToManaged(secret("openshift-kube-apiserver", "check-endpoints-client-cert-key"), "kube-controller-manager-client-cert-key")
	c.setFeatures()
}

// copyToManaged has in openshift-config-managed what an operator that may not run here would publish there; one that runs replaces it.
func (c *operatedCluster) copyToManaged(from client.Object, name string) {
	c.t.Helper()
	require.NoError(c.t, c.Client.Get(c.t.Context(), client.ObjectKeyFromObject(from), from))
	var to client.Object
	switch from := from.(type) {
	case *corev1.ConfigMap:
		m := configMap("openshift-config-managed", name)
		m.Data, to = from.Data, m
	case *corev1.Secret:
		s := secret("openshift-config-managed", name)
		s.Data, s.Type, to = from.Data, from.Type, s
	}
	require.NoError(c.t, client.IgnoreAlreadyExists(c.Client.Create(c.t.Context(), to)))
}

var featureName = regexp.MustCompile(`newFeatureGate\("([A-Za-z0-9]+)"\)`)

// setFeatures disables all features that the operators know: one that is in neither list stops them.
func (c *operatedCluster) setFeatures() {
	c.t.Helper()
	names := map[string]bool{}
	for _, s := range c.sources {
		for _, match := range featureName.FindAllSubmatch(s.Read("vendor/github.com/openshift/api/features/features.go"), -1) {
			names[string(match[1])] = true
		}
	}
	disabled := []any{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		disabled = append(disabled, map[string]any{"name": name})
	}
	c.patchStatus(c.get("config.openshift.io/v1", "FeatureGate"), map[string]any{"featureGates": []any{
		map[string]any{"version": labVersion, "enabled": []any{}, "disabled": disabled}}})
}

// get reads the object "cluster" of a kind.
func (c *operatedCluster) get(version, kind string) *unstructured.Unstructured {
	c.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind))
	require.NoError(c.t, c.Client.Get(context.Background(), client.ObjectKey{Name: "cluster"}, o), kind)
	return o
}

func (c *operatedCluster) patchStatus(o *unstructured.Unstructured, status map[string]any) {
	c.t.Helper()
	patch, err := json.Marshal(map[string]any{"status": status})
	require.NoError(c.t, err)
	require.NoError(c.t, c.Client.Status().Patch(c.t.Context(), o, client.RawPatch("application/merge-patch+json", patch)))
}

// operatorConfig has an operator lead without a lease: a restarted one would wait for that of its predecessor.
const operatorConfig = `{"apiVersion":"operator.openshift.io/v1alpha1","kind":"GenericOperatorConfig","leaderElection":{"disable":true}}`

// startOperators starts every process of the operators, and the kubelet's part.
func (c *operatedCluster) startOperators() {
	c.t.Helper()
	c.rest = c.kubelet.start()
	c.running = append(c.running, c.startTokenController())
	port := 8443
	for _, o := range c.operators {
		for _, command := range o.commands {
			c.running = append(c.running, c.startCommand(o, command, port))
			port++
		}
	}
}

// startTokenController runs the part of kube-controller-manager that issues the tokens of service accounts, for which operators wait.
func (c *operatedCluster) startTokenController() *process {
	c.t.Helper()
	key := secret("openshift-kube-controller-manager", "service-account-private-key")
	dir := c.volumes(map[string]client.Object{"key": key})
	put(c.t, filepath.Join(dir, "ca.crt"), string(c.authorities))
	return launch(c.t, nil, c.inside(filepath.Join(filepath.Dir(etcdtest.Binary(c.t)), "kube-controller-manager"), "--kubeconfig="+c.kubeconfig(),
		"--leader-elect=false", "--secure-port=0", "--controllers=serviceaccount-token-controller", "--root-ca-file="+filepath.Join(dir, "ca.crt"),
		"--service-account-private-key-file="+filepath.Join(dir, "key/service-account.key"))...)
}

func (c *operatedCluster) startCommand(o operator, command command, port int) *process {
	c.t.Helper()
	for _, read := range command.reads {
		await(c.t, func() bool {
			return c.Client.Get(context.Background(), client.ObjectKeyFromObject(read), read) == nil
		}, "%T %s", read, read.GetName())
	}
	run := c.volumes(command.reads)
	put(c.t, filepath.Join(run, "config.json"), operatorConfig)
	put(c.t, filepath.Join(run, "secrets/kubernetes.io/serviceaccount/ca.crt"), string(c.authorities))
	env := environment{"IMAGE": "example/operand:1", "OPERATOR_IMAGE": "example/operator:1", "OPERATOR_IMAGE_VERSION": labVersion,
		"OPERAND_IMAGE_VERSION": labVersion, "CLUSTER_POLICY_CONTROLLER_IMAGE": "example/policy:1", "TOOLS_IMAGE": "example/tools:1",
		"CONTROLLER_IMAGE": "example/controller:1", "POD_NAME": o.name + "-1", "POD_NAMESPACE": command.namespace}
	return c.withRun(c.t, run, env, c.kubelet.programs[o.name], command.verb, "--namespace="+command.namespace, "--config=/run/config.json",
		"--kubeconfig="+c.kubeconfig(), fmt.Sprintf("--listen=127.0.0.1:%d", port), "-v=2")
}

func (c *operatedCluster) stopOperators() {
	for _, p := range c.running {
		p.stop()
	}
	c.running = nil
	if c.rest != nil {
		c.rest()
		c.rest = nil
	}
}
