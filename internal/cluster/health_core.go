package cluster

import (
	"context"
	"fmt"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// clusterOperators must be Available, not Progressing and not Degraded.
func clusterOperators(ctx context.Context, r kube.Reader) ([]Finding, error) {
	var list configv1.ClusterOperatorList
	if err := r.List(ctx, &list); err != nil {
		return nil, err
	}
	var found []Finding
	for _, co := range list.Items {
		if reason := operatorProblem(co.Status.Conditions); reason != "" {
			found = append(found, Finding{Object: co.Name, Reason: reason})
		}
	}
	return found, nil
}

func operatorProblem(conds []configv1.ClusterOperatorStatusCondition) string {
	status := map[configv1.ClusterStatusConditionType]configv1.ClusterOperatorStatusCondition{}
	for _, c := range conds {
		status[c.Type] = c
	}
	var problems []string
	if c := status[configv1.OperatorAvailable]; c.Status != configv1.ConditionTrue {
		problems = append(problems, formatReason("not available", c.Reason, c.Message))
	}
	if c := status[configv1.OperatorProgressing]; c.Status == configv1.ConditionTrue {
		problems = append(problems, formatReason("progressing", c.Reason, c.Message))
	}
	if c := status[configv1.OperatorDegraded]; c.Status == configv1.ConditionTrue {
		problems = append(problems, formatReason("degraded", c.Reason, c.Message))
	}
	return strings.Join(problems, ", ")
}

// maxDetail bounds how much of another component's message is repeated, in bytes.
const maxDetail = 160

func formatReason(what, reason, message string) string {
	detail := truncateText(strings.Join(strings.Fields(message), " "), maxDetail)
	switch {
	case reason == "" && detail == "":
		return what
	case detail == "":
		return fmt.Sprintf("%s (%s)", what, reason)
	case reason == "":
		return fmt.Sprintf("%s (%s)", what, detail)
	}
	return fmt.Sprintf("%s (%s: %s)", what, reason, detail)
}

// checkNodes must be registered, ready and have their network; the one of a cluster that was
// installed as a single node must carry the labels of all three roles.
func checkNodes(ctx context.Context, r kube.Reader) ([]Finding, error) {
	var list corev1.NodeList
	if err := r.List(ctx, &list); err != nil {
		return nil, err
	}
	single, err := installedAsSingleNode(ctx, r)
	if err != nil {
		return nil, err
	}
	var found []Finding
	control := false
	for i := range list.Items {
		n := &list.Items[i]
		problems := nodeConditionProblems(n)
		if IsControlPlane(n) {
			control = true
			if single {
				problems = append(problems, missingRoles(n)...)
			}
		}
		if len(problems) > 0 {
			found = append(found, Finding{Object: n.Name, Reason: strings.Join(problems, ", ")})
		}
	}
	if !control {
		found = append(found, Finding{Reason: ErrNoNode.Error()})
	}
	return found, nil
}

func nodeConditionProblems(n *corev1.Node) []string {
	ready, problems := false, []string(nil)
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue:
			ready = true
		case c.Type == corev1.NodeReady:
			problems = append(problems, formatReason("not ready", c.Reason, c.Message))
		case c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionTrue:
			problems = append(problems, formatReason("network unavailable", c.Reason, c.Message))
		}
	}
	if !ready && len(problems) == 0 {
		problems = append(problems, "not ready (the kubelet has not reported yet)")
	}
	return problems
}

func missingRoles(n *corev1.Node) []string {
	var problems []string
	for _, label := range []string{LabelControlPlane, LabelMaster, LabelWorker} {
		if _, ok := n.Labels[label]; !ok {
			problems = append(problems, "label "+label+" is missing")
		}
	}
	return problems
}

// installedAsSingleNode reads the Infrastructure object; without one no role is required.
func installedAsSingleNode(ctx context.Context, r kube.Reader) (bool, error) {
	var infra configv1.Infrastructure
	err := r.Get(ctx, kube.Key{Name: "cluster"}, &infra)
	if notServed(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get infrastructure cluster: %w", err)
	}
	return infra.Status.ControlPlaneTopology == configv1.SingleReplicaTopologyMode, nil
}

// signingRequests must all be approved or denied: a pending one may be the kubelet's.
func signingRequests(ctx context.Context, r kube.Reader) ([]Finding, error) {
	var list certificatesv1.CertificateSigningRequestList
	if err := r.List(ctx, &list); err != nil {
		return nil, err
	}
	var found []Finding
	for _, csr := range list.Items {
		if len(csr.Status.Conditions) == 0 {
			found = append(found, Finding{Object: csr.Name, Reason: "neither approved nor denied"})
		}
	}
	return found, nil
}
