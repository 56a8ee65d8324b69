package cluster

import (
	"context"
	"net/netip"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
)

// api reads a fake API holding the objects, which knows the optional kinds only if served names them.
func api(t *testing.T, served map[string]bool, objects ...client.Object) kube.Reader {
	t.Helper()
	return runtimeclient.NewReader(fakeClient(t, served, objects...))
}

func fakeClient(t *testing.T, served map[string]bool, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, AddToScheme(scheme))
	missing := func(o runtime.Object) error {
		gvk := o.GetObjectKind().GroupVersionKind()
		if _, optional := o.(runtime.Unstructured); optional && !served[gvk.Group] {
			return &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
		}
		return nil
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if err := missing(o); err != nil {
					return err
				}
				return c.Get(ctx, key, o, opts...)
			},
			List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
				if err := missing(l); err != nil {
					return err
				}
				return c.List(ctx, l, opts...)
			},
		}).Build()
}

// nodeObject is a ready node with the given role labels and addresses.
func nodeObject(name string, roles []string, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, role := range roles {
		n.Labels[role] = ""
	}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

func roles() []string { return []string{LabelControlPlane, LabelMaster, LabelWorker} }

func object(gvk schema.GroupVersionKind, name string, status map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	u.SetGroupVersionKind(gvk)
	u.SetName(name)
	return u
}

func TestSingleNode(t *testing.T) {
	sno := nodeObject("sno", roles(), "192.0.2.10")
	tests := []struct {
		name     string
		nodes    []client.Object
		want     string
		topology string
	}{
		{"one node", []client.Object{sno}, "sno", ""},
		{"old role label", []client.Object{nodeObject("old", []string{LabelMaster})}, "old", ""},
		{"worker beside it", []client.Object{sno, nodeObject("w", []string{LabelWorker})}, "sno", "1 worker node(s) beside"},
		{"three control planes", []client.Object{sno, nodeObject("b", roles()), nodeObject("c", roles())}, "", "3 control-plane nodes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, err := SingleNode(t.Context(), api(t, nil, tt.nodes...))
			if tt.topology == "" {
				require.NoError(t, err)
			} else {
				var topology *TopologyError
				require.ErrorAs(t, err, &topology)
				require.ErrorContains(t, err, tt.topology)
			}
			if tt.want == "" {
				require.Nil(t, n)
				return
			}
			require.Equal(t, tt.want, n.Name)
		})
	}
	_, err := SingleNode(t.Context(), api(t, nil))
	require.ErrorIs(t, err, ErrNoNode)
}

func TestInternalIPsKeepTheirOrder(t *testing.T) {
	ips := InternalIPs(nodeObject("sno", roles(), "2001:db8::10", "192.0.2.10"))
	require.Equal(t, []netip.Addr{netip.MustParseAddr("2001:db8::10"), netip.MustParseAddr("192.0.2.10")}, ips)
	require.Equal(t, "192.0.2.10", firstOf(ips, 4).String())
	require.Equal(t, "2001:db8::10", firstOf(ips, 6).String())
	require.False(t, firstOf(ips[:1], 4).IsValid())
}

const installConfigText = `
baseDomain: example.com
metadata: {name: sno}
networking:
  machineNetwork:
  - cidr: 10.0.0.0/8
  - cidr: 192.0.2.0/24
  - cidr: 2001:db8::/64
  clusterNetwork:
  - {cidr: 10.128.0.0/14, hostPrefix: 23}
  serviceNetwork: [172.30.0.0/16]
`

func installConfigMap(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: installConfigNamespace, Name: installConfigName},
		Data: map[string]string{installConfigKey: text}}
}

func TestInstallConfig(t *testing.T) {
	ic, err := ReadInstallConfig(t.Context(), api(t, nil, installConfigMap(installConfigText)))
	require.NoError(t, err)
	require.Equal(t, installConfigText, ic.Text)
	require.Equal(t, "10.128.0.0/14", ic.ClusterNetworks[0].String())
	require.Equal(t, "172.30.0.0/16", ic.ServiceNetworks[0].String())

	for addr, want := range map[string]string{
		"192.0.2.10": "192.0.2.0/24", "10.1.2.3": "10.0.0.0/8", "2001:db8::10": "2001:db8::/64", "198.51.100.1": "",
	} {
		p, ok := ic.MachineNetworkOf(netip.MustParseAddr(addr))
		require.Equal(t, want != "", ok, addr)
		if ok {
			require.Equal(t, want, p.String())
		}
	}
}

func TestInstallConfigOddities(t *testing.T) {
	old, err := parseInstallConfig("networking: {machineCIDR: 192.0.2.0/24}")
	require.NoError(t, err)
	require.Equal(t, "192.0.2.0/24", old.MachineNetworks[0].String())

	_, err = parseInstallConfig("networking: {serviceNetwork: [nonsense]}")
	require.ErrorContains(t, err, "networking.serviceNetwork")

	_, err = parseInstallConfig("pullSecret: 'hush\n: [")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hush")

	_, err = ReadInstallConfig(t.Context(), api(t, nil))
	require.ErrorContains(t, err, "kube-system/cluster-config-v1")
}

func TestDnsmasqMachineConfig(t *testing.T) {
	ok, err := HasDnsmasqMachineConfig(t.Context(), api(t, nil))
	require.NoError(t, err)
	require.False(t, ok)
	mc := &mcv1.MachineConfig{ObjectMeta: metav1.ObjectMeta{Name: DnsmasqMachineConfig}}
	ok, err = HasDnsmasqMachineConfig(t.Context(), api(t, nil, mc))
	require.NoError(t, err)
	require.True(t, ok)
}

func TestImageBasedUpgradeBusy(t *testing.T) {
	group := ImageBasedUpgrade().Group
	with := func(conds ...any) *unstructured.Unstructured {
		return object(ImageBasedUpgrade(), "upgrade", map[string]any{"conditions": conds})
	}
	cond := func(kind, status, reason string) any {
		return map[string]any{"type": kind, "status": status, "reason": reason}
	}
	tests := []struct {
		name   string
		served bool
		ibu    *unstructured.Unstructured
		want   bool
	}{
		{"kind not installed", false, nil, false},
		{"no object", true, nil, false},
		{"never worked on", true, with(), false},
		{"idle", true, with(cond("Idle", "True", "Idle")), false},
		{"waits for us", true, with(cond("Idle", "False", "Blocked")), false},
		{"upgrading", true, with(cond("Idle", "False", "InProgress"), cond("PrepInProgress", "True", "InProgress")), true},
		{"prepared", true, with(cond("PrepCompleted", "True", "Completed")), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var objects []client.Object
			if tt.ibu != nil {
				objects = append(objects, tt.ibu)
			}
			busy, err := ImageBasedUpgradeBusy(t.Context(), api(t, map[string]bool{group: tt.served}, objects...))
			require.NoError(t, err)
			require.Equal(t, tt.want, busy)
		})
	}
}

func infrastructure() *configv1.Infrastructure {
	return &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Status: configv1.InfrastructureStatus{ControlPlaneTopology: configv1.SingleReplicaTopologyMode}}
}
