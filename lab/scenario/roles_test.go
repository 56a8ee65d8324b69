//go:build lab

package scenario

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/containerimage"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
)

// productImage is what config/default is told to run.
const (
	productImage     = "localhost/lab/lifecycle-agent"
	productNamespace = "openshift-lifecycle-agent"
)

// TestBothRolesRunAsTheManifestsSay installs the product as a user does, on a node that has nothing of it: the image from the
// Containerfile, config/default applied, the pods scheduled and run by Kubernetes. The operator's pod serves a claim, the node's
// pod carries a change of address through, and the operator serves again after it. One replica's end is no gap: the other takes over.
func TestBothRolesRunAsTheManifestsSay(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, d := node(t, "scenario-roles")
	api := install(ctx, t, l)
	podsAreWhatTheirRoleNeeds(ctx, t, api)
	require.Equal(t, "203.0.113.10", claim(ctx, t, api, "before"))
	deleteLeader(ctx, t, api)
	require.Equal(t, "203.0.113.11", claim(ctx, t, api, "of-the-other-replica"))

	require.NoError(t, d.Patch(ctx, move()))
	_, err := d.Until(ctx, "a completed change", drive.Is(lcav1.ConditionConfigCompleted))
	require.NoError(t, err)
	nodeIsAt(ctx, t, l, []netip.Addr{away}, []netip.Addr{home})
	require.True(t, says(ctx, l, "test -x /usr/local/bin/lca-cli"), "the node's pod has installed lca-cli from its image")
	require.False(t, says(ctx, l, "test -e /usr/local/bin/lifecycle-agent"), "nothing but pods can have done it")

	api = apiAt(t, l, away)
	bothReady(ctx, t, api)
	require.Equal(t, "203.0.113.12", claim(ctx, t, api, "after"))
	keep(ctx, t, d)
}

// install puts the product on a node as a user does: the image from the Containerfile, config/default with components applied, the
// pods scheduled and run by Kubernetes.
func install(ctx context.Context, t *testing.T, l *lab.Lab, components ...string) client.Client {
	t.Helper()
	removeProduct(ctx, t, l)
	bin := filepath.Join(root(t), "build", "bin")
	image, err := containerimage.Build(filepath.Join(root(t), "Containerfile"), bin, productImage+":1")
	require.NoError(t, err)
	require.NoError(t, l.ImportImage(ctx, image))
	require.NoError(t, l.StartWorkloads(ctx, bin))
	api := apiAt(t, l, home)
	for _, o := range manifests(t, components...) {
		require.NoError(t, api.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("admin"), client.ForceOwnership),
			"%s %s", o.GetKind(), o.GetName())
	}
	bothReady(ctx, t, api)
	return api
}

// removeProduct takes the unit and the programs away with which a lab node comes.
func removeProduct(ctx context.Context, t *testing.T, l *lab.Lab) {
	t.Helper()
	in(ctx, t, l, "sh", "-c", "systemctl disable --now lifecycle-agent && "+
		"rm /etc/systemd/system/lifecycle-agent.service /usr/local/bin/lifecycle-agent /usr/local/bin/lca-cli && systemctl daemon-reload")
}

// manifests are those of config/default, with components and the image's name put in by an overlay.
func manifests(t *testing.T, components ...string) (objects []*unstructured.Unstructured) {
	t.Helper()
	overlay := t.TempDir()
	base, err := filepath.Rel(overlay, filepath.Join(root(t), "config"))
	require.NoError(t, err)
	text := fmt.Sprintf("resources: [%s/default]\nimages: [{name: lifecycle-agent, newName: %s, newTag: '1'}]\ncomponents:\n", base, productImage)
	for _, c := range components {
		text += "- " + base + "/components/" + c + "\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600))
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), overlay)
	require.NoError(t, err)
	for _, r := range resources.Resources() {
		content, err := r.Map()
		require.NoError(t, err)
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	return objects
}

func apiAt(t *testing.T, l *lab.Lab, at netip.Addr) client.Client {
	t.Helper()
	config, err := drive.ConfigAt(l, at)
	require.NoError(t, err)
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, metal3.AddToScheme(scheme))
	require.NoError(t, lcav1.AddToScheme(scheme))
	require.NoError(t, nmstatev1.AddToScheme(scheme))
	require.NoError(t, nmstatev1beta1.AddToScheme(scheme))
	c, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return c
}

func bothReady(ctx context.Context, t *testing.T, api client.Client) {
	t.Helper()
	until(ctx, t, "both roles to be ready", func() bool {
		var operator appsv1.Deployment
		var agent appsv1.DaemonSet
		key := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: productNamespace, Name: name} }
		return api.Get(ctx, key("lifecycle-agent"), &operator) == nil && operator.Status.ReadyReplicas == 2 &&
			operator.Status.UpdatedReplicas == 2 &&
			api.Get(ctx, key("lifecycle-agent-node"), &agent) == nil && agent.Status.NumberReady == 1
	})
}

// podsAreWhatTheirRoleNeeds looks at what Kubernetes made of the manifests.
func podsAreWhatTheirRoleNeeds(ctx context.Context, t *testing.T, api client.Client) {
	t.Helper()
	var pods corev1.PodList
	require.NoError(t, api.List(ctx, &pods, client.InNamespace(productNamespace)))
	roles := map[string]int{}
	for _, p := range pods.Items {
		role, ours := strings.CutPrefix(p.Spec.ServiceAccountName, "lifecycle-agent-")
		require.True(t, ours, p.Spec.ServiceAccountName)
		roles[role]++
		require.Equal(t, role == "node", p.Spec.HostNetwork)
		require.Equal(t, role == "node", p.Status.PodIP == p.Status.HostIP, "the operator has an address of its own: %s", p.Status.PodIP)
	}
	require.Equal(t, map[string]int{"operator": 2, "node": 1}, roles)
}

// deleteLeader deletes the operator's pod that holds the lease and waits until the other one does.
func deleteLeader(ctx context.Context, t *testing.T, api client.Client) {
	t.Helper()
	leader := func() string {
		var lease coordinationv1.Lease
		require.NoError(t, api.Get(ctx, client.ObjectKey{Namespace: productNamespace, Name: "lifecycle-agent.lca.openshift.io"}, &lease))
		pod, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
		return pod
	}
	first := leader()
	require.NotEmpty(t, first)
	require.NoError(t, api.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: productNamespace, Name: first}}))
	began := time.Now()
	until(ctx, t, "another leader", func() bool { now := leader(); return now != "" && now != first })
	t.Logf("%s leads %s after pod %s was deleted", leader(), time.Since(began).Round(time.Millisecond), first)
}

// claim asks for an address of a pool, which it makes if there is none, and returns it.
func claim(ctx context.Context, t *testing.T, api client.Client, name string) (address string) {
	t.Helper()
	start, end := metal3.IPAddressStr("203.0.113.10"), metal3.IPAddressStr("203.0.113.20")
	pool := &metal3.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "storage"},
		Spec: metal3.IPPoolSpec{NamePrefix: "storage", Prefix: 24, Pools: []metal3.Pool{{Start: &start, End: &end}}}}
	require.NoError(t, client.IgnoreAlreadyExists(api.Create(ctx, pool)))
	c := &metal3.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: metal3.IPClaimSpec{Pool: metal3.ObjectReference{Name: pool.Name, Namespace: pool.Namespace}}}
	require.NoError(t, api.Create(ctx, c))
	began := time.Now()
	until(ctx, t, "an address for claim "+name, func() bool {
		if api.Get(ctx, client.ObjectKeyFromObject(c), c) != nil || c.Status.Address == nil {
			return false
		}
		got := &metal3.IPAddress{}
		if api.Get(ctx, client.ObjectKey{Namespace: "default", Name: c.Status.Address.Name}, got) != nil {
			return false
		}
		address = string(got.Spec.Address)
		return true
	})
	t.Logf("claim %s has %s after %s", name, address, time.Since(began).Round(time.Millisecond))
	return address
}
