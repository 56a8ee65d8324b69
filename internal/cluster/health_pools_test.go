package cluster

import (
	"context"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/stretchr/testify/require"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
)

const roleLabel = "machineconfiguration.openshift.io/role"

// pool is one that is done, as the machine config operator leaves it.
func pool(name string, machines, ready int32) *mcv1.MachineConfigPool {
	p := &mcv1.MachineConfigPool{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 4}}
	p.Spec.MachineConfigSelector = &metav1.LabelSelector{MatchLabels: map[string]string{roleLabel: name}}
	p.Spec.Configuration.Name = "rendered-" + name + "-1"
	p.Spec.Configuration.Source = []corev1.ObjectReference{{Name: "00-" + name}}
	p.Status = mcv1.MachineConfigPoolStatus{
		MachineCount: machines, ReadyMachineCount: ready, UpdatedMachineCount: machines, ObservedGeneration: 4,
		Configuration: *p.Spec.Configuration.DeepCopy(),
	}
	setCondition(p, mcv1.MachineConfigPoolUpdated, corev1.ConditionTrue, "")
	setCondition(p, mcv1.MachineConfigPoolUpdating, corev1.ConditionFalse, "")
	setCondition(p, mcv1.MachineConfigPoolDegraded, corev1.ConditionFalse, "")
	return p
}

func setCondition(p *mcv1.MachineConfigPool, kind mcv1.MachineConfigPoolConditionType, status corev1.ConditionStatus, reason string) {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			p.Status.Conditions[i].Status, p.Status.Conditions[i].Reason = status, reason
			return
		}
	}
	p.Status.Conditions = append(p.Status.Conditions, mcv1.MachineConfigPoolCondition{Type: kind, Status: status, Reason: reason})
}

func machineConfig(name, role string) *mcv1.MachineConfig {
	return &mcv1.MachineConfig{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{roleLabel: role}}}
}

func clusterVersionAt(generation, observed int64) *configv1.ClusterVersion {
	return &configv1.ClusterVersion{ObjectMeta: metav1.ObjectMeta{Name: "version", Generation: generation},
		Status: configv1.ClusterVersionStatus{ObservedGeneration: observed}}
}

// TestAPoolIsDoneWhenItHasEveryMachineConfig follows a MachineConfig from its creation to the node.
func TestAPoolIsDoneWhenItHasEveryMachineConfig(t *testing.T) {
	const missing = "its configuration does not have MachineConfig core-ssh-key-master yet"
	rendered := func(p *mcv1.MachineConfigPool) {
		p.Spec.Configuration.Name = "rendered-master-2"
		p.Spec.Configuration.Source = append(p.Spec.Configuration.Source, corev1.ObjectReference{Name: "core-ssh-key-master"})
	}
	all := func(p *mcv1.MachineConfigPool) {
		rendered(p)
		p.Status.Configuration = *p.Spec.Configuration.DeepCopy()
	}
	for _, tt := range []struct {
		name string
		edit func(p *mcv1.MachineConfigPool)
		want string
	}{
		{"the operator has not acted yet", func(*mcv1.MachineConfigPool) {}, missing},
		{"rendered, and not observed", func(p *mcv1.MachineConfigPool) { rendered(p); p.Generation = 5 }, missing +
			", the machine config operator has not observed its latest change yet (generation 5, observed 4)" +
			`, it has "rendered-master-1" and is to have "rendered-master-2"`},
		{"on its way", func(p *mcv1.MachineConfigPool) {
			rendered(p)
			setCondition(p, mcv1.MachineConfigPoolUpdating, corev1.ConditionTrue, "")
			setCondition(p, mcv1.MachineConfigPoolUpdated, corev1.ConditionFalse, "")
		}, missing + `, it has "rendered-master-1" and is to have "rendered-master-2", updating`},
		{"not updated", func(p *mcv1.MachineConfigPool) {
			all(p)
			setCondition(p, mcv1.MachineConfigPoolUpdated, corev1.ConditionFalse, "")
		}, "not updated"},
		{"nothing is said of it", func(p *mcv1.MachineConfigPool) { all(p); p.Status.Conditions = nil }, "not updated"},
		{"degraded as a whole", func(p *mcv1.MachineConfigPool) {
			all(p)
			setCondition(p, mcv1.MachineConfigPoolDegraded, corev1.ConditionTrue, "RenderDegraded")
		}, "degraded (RenderDegraded)"},
		{"degraded in a part, before the whole says so", func(p *mcv1.MachineConfigPool) {
			all(p)
			setCondition(p, mcv1.MachineConfigPoolNodeDegraded, corev1.ConditionTrue, "1 nodes are reporting degraded status on sync")
		}, "degraded (1 nodes are reporting degraded status on sync)"},
		{"paused", func(p *mcv1.MachineConfigPool) {
			p.Spec.Paused = true
			setCondition(p, mcv1.MachineConfigPoolUpdated, corev1.ConditionFalse, "")
		}, ""},
		{"paused and degraded", func(p *mcv1.MachineConfigPool) {
			p.Spec.Paused = true
			setCondition(p, mcv1.MachineConfigPoolDegraded, corev1.ConditionTrue, "NodeDegraded")
		}, "degraded (NodeDegraded)"},
		{"done", all, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			master := pool("master", 1, 1)
			tt.edit(master)
			objects := []client.Object{nodeObject("sno", roles(), "192.0.2.10"), master, machineConfig("00-master", "master"),
				machineConfig("core-ssh-key-master", "master"), machineConfig("core-ssh-key-infra", "infra"), machineConfig("rendered-master-1", "master")}
			report := Health(t.Context(), api(t, nil, objects...))
			if tt.want == "" {
				require.True(t, report.Healthy(), report.String())
				return
			}
			require.Equal(t, "machineconfigpool master: "+tt.want, report.String())
		})
	}
}

// TestHealthWithoutOpenShift: a plain Kubernetes cluster has none of OpenShift's kinds; one that OpenShift's installer made and
// that does not serve them is not healthy.
func TestHealthWithoutOpenShift(t *testing.T) {
	plain := func(objects ...client.Object) kube.Reader {
		return runtimeclient.NewReader(interceptor.NewClient(fakeClient(t, nil, objects...), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				switch o.(type) {
				case *configv1.ClusterVersion, *configv1.Infrastructure:
					return &meta.NoKindMatchError{}
				}
				return c.Get(ctx, key, o, opts...)
			},
			List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
				switch l.(type) {
				case *corev1.NodeList, *certificatesv1.CertificateSigningRequestList:
					return c.List(ctx, l, opts...)
				}
				return &meta.NoKindMatchError{}
			},
		}))
	}
	node := nodeObject("plain", []string{LabelControlPlane}, "192.0.2.10")
	report := Health(t.Context(), plain(node))
	require.True(t, report.Healthy(), report.String())
	require.False(t, Health(t.Context(), plain()).Healthy(), "the node counts there as well")

	installed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: installConfigNamespace, Name: installConfigName}}
	report = Health(t.Context(), plain(node, installed))
	require.Contains(t, report.String(), "clusteroperator: cannot be checked")
	require.Contains(t, report.String(), "machineconfigpool: cannot be checked")
}
