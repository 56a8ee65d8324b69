package relocation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/relocation/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/reconcile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// Reasons of the conditions.
const (
	reasonValid      = "Valid"
	reasonInvalid    = "ValidationFailed"
	reasonReconciled = "Reconciled"
	reasonDrift      = "DriftCorrected"
	reasonAttention  = "NeedsAttention"
	reasonWaiting    = "Waiting"
	reasonFailed     = "ReconciliationFailed"
)

// report is the status while it is computed, the one place where it is written.
type report struct {
	conditions *status.Conditions
	open       []string // parts that are not in place, with their reasons
	stuck      bool     // one of them does not come into place by waiting
}

func newReport(o *v1beta1.ClusterRelocation, now time.Time) *report {
	return &report{conditions: status.NewConditions(slices.Clone(o.Status.Conditions), o.Generation, now)}
}

// addProblems says all that is wrong with the object; nothing of it is carried out.
func (r *report) addProblems(problems []siteconfig.Problem) {
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}
	r.conditions.Set(v1beta1.ConditionReady, metav1.ConditionFalse, reasonInvalid, strings.Join(all, "; "))
	r.conditions.Set(v1beta1.ConditionReconciled, metav1.ConditionFalse, reasonInvalid, "nothing is changed until the object is valid")
	r.conditions.Summarize(status.Stalled, reasonInvalid, strings.Join(all, "; "))
}

// addPart says what became of one part.
func (r *report) addPart(p reconcile.Part, out reconcile.Outcome, err error) {
	s, reason, message := metav1.ConditionTrue, reasonReconciled, "in place"
	switch {
	case errors.Is(err, reconcile.ErrWaiting):
		s, reason, message = metav1.ConditionFalse, reasonWaiting, err.Error()
	case err != nil:
		s, reason, message = metav1.ConditionFalse, reasonFailed, err.Error()
	case out.Attention != "":
		s, reason, message = metav1.ConditionFalse, reasonAttention, out.Attention
	case len(out.Drifted) > 0:
		reason, message = reasonDrift, "changed by somebody else and set again: "+strings.Join(out.Drifted, ", ")
	}
	r.stuck = r.stuck || reason == reasonFailed || reason == reasonAttention
	if s == metav1.ConditionFalse {
		r.open = append(r.open, fmt.Sprintf("%s: %s", p.Condition, message))
	}
	r.conditions.Set(p.Condition, s, reason, message)
}

// summarizeParts sums the parts up.
func (r *report) summarizeParts(c siteconfig.SiteConfig) {
	r.conditions.Set(v1beta1.ConditionReady, metav1.ConditionTrue, reasonValid, "the object can be carried out")
	if len(r.open) > 0 {
		message := strings.Join(r.open, "; ")
		r.conditions.Set(v1beta1.ConditionReconciled, metav1.ConditionFalse, reasonFailed, message)
		if r.stuck {
			r.conditions.Summarize(status.Stalled, reasonFailed, message)
		} else {
			r.conditions.Summarize(status.Reconciling, reasonWaiting, message)
		}
		return
	}
	r.conditions.Summarize(status.Settled, "", "")
	message := "everything is in place"
	if c.Dnsmasq != nil && c.Dnsmasq.Enabled {
		message += "; addInternalDNSEntries: the node's own DNS server answers for the domain after a change of its address (IPConfig)" +
			" or a relocation on site, not by this object"
	}
	r.conditions.Set(v1beta1.ConditionReconciled, metav1.ConditionTrue, reasonReconciled, message)
}
