package reconcile

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// TestAPausedPoolIsTold: the site's keys are not in force, and health does not wait for them.
func TestAPausedPoolIsTold(t *testing.T) {
	for _, paused := range []bool{false, true} {
		scheme := runtime.NewScheme()
		require.NoError(t, corev1.AddToScheme(scheme))
		require.NoError(t, mcv1.Install(scheme))
		var pools []client.Object
		for _, role := range []string{"master", "worker"} {
			p := &mcv1.MachineConfigPool{ObjectMeta: metav1.ObjectMeta{Name: role}}
			p.Spec.Paused = paused && role == "master"
			p.Spec.MachineConfigSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"machineconfiguration.openshift.io/role": role}}
			pools = append(pools, p)
		}
		api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(pools...).Build()
		r := &Reconciler{Client: runtimeclient.NewClient(api), Now: time.Now, Rand: rand.Reader}
		part, found := Find("ssh-keys")
		require.True(t, found)
		out, err := r.Apply(t.Context(), part, siteconfig.SiteConfig{SSHKeys: []string{"ssh-ed25519 AAAA site"}})
		require.NoError(t, err)
		want := ""
		if paused {
			want = "machine config pool master is paused and does not take core-ssh-key-master in: unpause it"
		}
		require.Equal(t, want, out.Attention)
		o := machineConfigPool.newObject()
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: machineConfigPool.Group, Version: "v1", Kind: "MachineConfig"})
		require.NoError(t, r.Client.Get(t.Context(), client.ObjectKey{Name: "core-ssh-key-master"}, o))
	}
}
