package cluster

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// Finding is one reason why the cluster does not count as healthy.
type Finding struct {
	// Check is the name of the check, Object what it checked (empty when the
	// check itself could not be made), Reason what is wrong with it.
	Check, Object, Reason string
}

func (f Finding) String() string {
	if f.Object == "" {
		return f.Check + ": " + f.Reason
	}
	return f.Check + " " + f.Object + ": " + f.Reason
}

// Report is the outcome of all health checks. An empty one means healthy.
type Report struct {
	Findings []Finding
}

// Healthy says that there are no findings.
func (r Report) Healthy() bool { return len(r.Findings) == 0 }

// maxSentence bounds String, which goes into a condition's message, in bytes.
const maxSentence = 1024

// String is one sentence with as many findings as fit and the number of those
// left out. It is empty for a healthy cluster.
func (r Report) String() string {
	var b strings.Builder
	for i, f := range r.Findings {
		part := truncateText(f.String(), maxSentence/2)
		if i > 0 {
			part = "; " + part
		}
		if b.Len()+len(part) > maxSentence {
			fmt.Fprintf(&b, "; and %d more", len(r.Findings)-i)
			break
		}
		b.WriteString(part)
	}
	return b.String()
}

// truncateText shortens text to at most limit bytes without cutting a character.
func truncateText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("...")], "") + "..."
}

// check is one check of the cluster's health.
type check struct {
	name string
	// optional: the check passes where the API does not know the kind. openShift: it does where the cluster is not OpenShift.
	optional, openShift bool
	run                 func(ctx context.Context, r kube.Reader) ([]Finding, error)
}

// healthChecks lists all of them in the order in which they are reported.
func healthChecks() []check {
	return []check{
		{name: "clusterversion", optional: true, run: clusterVersion},
		{name: "clusteroperator", openShift: true, run: clusterOperators},
		{name: "machineconfigpool", openShift: true, run: machineConfigPools},
		{name: "node", run: checkNodes},
		{name: "sriovnetworknodestate", optional: true, run: sriovNodeStates},
		{name: "dataprotectionapplication", optional: true, run: backupLocations},
		{name: "clusterserviceversion", optional: true, run: clusterServiceVersions},
		{name: "certificatesigningrequest", run: signingRequests},
	}
}

// Health makes every check once. A check that cannot be made, because the
// API does not answer, is a finding too: unknown is not healthy.
//
// One good report may be that of a cluster that has not begun to act on a change yet: bringup.Hold tells when to believe it.
func Health(ctx context.Context, r kube.Reader) Report {
	var report Report
	for _, c := range healthChecks() {
		found, err := c.run(ctx, r)
		if c.isInapplicable(ctx, r, err) {
			continue
		}
		for _, f := range found {
			f.Check = c.name
			report.Findings = append(report.Findings, f)
		}
		if err != nil {
			report.Findings = append(report.Findings, Finding{Check: c.name, Reason: "cannot be checked: " + err.Error()})
		}
	}
	return report
}

// isInapplicable says that a check does not apply to this cluster. A cluster that OpenShift's installer made has OpenShift's kinds: there
// they are missing, and not unknown.
func (c check) isInapplicable(ctx context.Context, r kube.Reader, err error) bool {
	switch {
	case c.optional:
		return notServed(err)
	case c.openShift && meta.IsNoMatchError(err):
		key := kube.Key{Namespace: installConfigNamespace, Name: installConfigName}
		return apierrors.IsNotFound(r.Get(ctx, key, &corev1.ConfigMap{}))
	}
	return false
}
