package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
)

func clusterOperator(name string, available, progressing, degraded configv1.ConditionStatus) *configv1.ClusterOperator {
	co := &configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for kind, status := range map[configv1.ClusterStatusConditionType]configv1.ConditionStatus{
		configv1.OperatorAvailable: available, configv1.OperatorProgressing: progressing, configv1.OperatorDegraded: degraded,
	} {
		co.Status.Conditions = append(co.Status.Conditions, configv1.ClusterOperatorStatusCondition{Type: kind, Status: status, Reason: "AsItIs"})
	}
	return co
}

func csr(name string, decided ...certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequest {
	c := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, d := range decided {
		c.Status.Conditions = append(c.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: d})
	}
	return c
}

func healthy() []client.Object {
	return []client.Object{
		nodeObject("sno", roles(), "192.0.2.10"), infrastructure(),
		clusterOperator("etcd", "True", "False", "False"), pool("master", 1, 1), pool("worker", 0, 0),
		csr("approved", certificatesv1.CertificateApproved), csr("denied", certificatesv1.CertificateDenied),
	}
}

func TestHealthyClusterWithoutOptionalKinds(t *testing.T) {
	report := Health(t.Context(), api(t, nil, healthy()...))
	require.True(t, report.Healthy(), report.String())
	require.Empty(t, report.String())
}

func TestHealthFindings(t *testing.T) {
	sriov := schema.GroupVersionKind{Group: "sriovnetwork.openshift.io", Version: "v1", Kind: "SriovNetworkNodeState"}
	dpa := schema.GroupVersionKind{Group: "oadp.openshift.io", Version: "v1alpha1", Kind: "DataProtectionApplication"}
	bsl := schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "BackupStorageLocation"}
	csv := schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "ClusterServiceVersion"}
	reconciled := map[string]any{"conditions": []any{map[string]any{"type": "Reconciled", "status": "True"}}}
	notReady := nodeObject("sno", []string{LabelControlPlane, LabelMaster})
	notReady.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: "no  CNI\nyet"},
		{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue},
	}
	copied := object(csv, "copied", map[string]any{"phase": "Failed"})
	copied.SetLabels(map[string]string{"olm.copiedFrom": "elsewhere"})

	tests := []struct {
		name    string
		served  string
		replace map[string]client.Object
		add     []client.Object
		want    []string
	}{
		{name: "operator not available and degraded", add: []client.Object{clusterOperator("dns", "False", "False", "True")},
			want: []string{"clusteroperator dns: not available (AsItIs), degraded (AsItIs)"}},
		{name: "operator progressing", add: []client.Object{clusterOperator("dns", "True", "True", "False")},
			want: []string{"clusteroperator dns: progressing (AsItIs)"}},
		{name: "pool behind", replace: map[string]client.Object{"master": pool("master", 1, 0)},
			want: []string{"machineconfigpool master: 0 of 1 machines ready"}},
		{name: "version operator behind", add: []client.Object{clusterVersionAt(3, 2)}, want: []string{"clusterversion version: " +
			"the cluster version operator has not observed its latest change yet (generation 3, observed 2)"}},
		{name: "version operator done", add: []client.Object{clusterVersionAt(3, 3)}},
		{name: "node", replace: map[string]client.Object{"sno": notReady},
			want: []string{"node sno: not ready (KubeletNotReady: no CNI yet), network unavailable, label " + LabelWorker + " is missing"}},
		{name: "pending request", add: []client.Object{csr("csr-1")},
			want: []string{"certificatesigningrequest csr-1: neither approved nor denied"}},
		{name: "SR-IOV installed, no state", served: sriov.Group,
			want: []string{"sriovnetworknodestate: SR-IOV is installed but has not reported the node's state"}},
		{name: "SR-IOV in progress", served: sriov.Group, add: []client.Object{object(sriov, "sno", map[string]any{"syncStatus": "InProgress"})},
			want: []string{`sriovnetworknodestate sno: sync status is "InProgress", not Succeeded`}},
		{name: "SR-IOV fine", served: sriov.Group, add: []client.Object{object(sriov, "sno", map[string]any{"syncStatus": "Succeeded"})}},
		{name: "no DPA", served: dpa.Group},
		{name: "DPA not reconciled", served: dpa.Group, add: []client.Object{object(dpa, "dpa", map[string]any{})},
			want: []string{"dataprotectionapplication dpa: not reconciled"}},
		{name: "backup location", served: dpa.Group + "," + bsl.Group, add: []client.Object{object(dpa, "dpa", reconciled), object(bsl, "b", nil)},
			want: []string{`dataprotectionapplication b: backup storage location is "", not Available`}},
		{name: "CSVs", served: csv.Group, add: []client.Object{copied, object(csv, "lifecycle-agent.v1", map[string]any{"phase": "Installing"}),
			object(csv, "ptp.v1", map[string]any{"phase": "Installing"})},
			want: []string{`clusterserviceversion ptp.v1: phase is "Installing", not Succeeded`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects := tt.add
			for _, o := range healthy() {
				if r, ok := tt.replace[o.GetName()]; ok {
					o = r
				}
				objects = append(objects, o)
			}
			served := map[string]bool{}
			for _, group := range strings.Split(tt.served, ",") {
				served[group] = true
			}
			var got []string
			for _, f := range Health(t.Context(), api(t, served, objects...)).Findings {
				got = append(got, f.String())
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestHealthUnknownIsNotHealthy(t *testing.T) {
	refused := runtimeclient.NewReader(interceptor.NewClient(fakeClient(t, nil, healthy()...), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if _, ok := l.(*configv1.ClusterOperatorList); ok {
				return errors.New("connection refused")
			}
			return c.List(ctx, l, opts...)
		},
	}))
	report := Health(t.Context(), refused)
	require.Equal(t, "clusteroperator: cannot be checked: connection refused", report.String())
}

func TestReportSentenceIsBounded(t *testing.T) {
	var r Report
	for range 100 {
		r.Findings = append(r.Findings, Finding{"clusteroperator", "name", strings.Repeat("ä", 300)})
	}
	require.LessOrEqual(t, len(r.String()), maxSentence+len("; and 100 more"))
	require.Contains(t, r.String(), "; and 98 more")
}
