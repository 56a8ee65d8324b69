package ipconfig

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

func TestProgressGaugesShowWhatRunsAndTheWayBack(t *testing.T) {
	g := newProgressGauges()
	at := metav1.NewTime(time.Unix(1000, 0))
	g.showProgress(lcav1.IPConfigStatus{History: []lcav1.StageHistory{{Stage: "Config", StartTime: &at}}, RollbackAvailabilityExpiration: &at}, observation{})
	require.InDelta(t, 1000, testutil.ToFloat64(g.started.WithLabelValues("Config")), 0)
	require.InDelta(t, 1000, testutil.ToFloat64(g.expiry.WithLabelValues()), 0)
	g.showProgress(lcav1.IPConfigStatus{History: []lcav1.StageHistory{{Stage: "Config", StartTime: &at, CompletionTime: &at}}}, observation{})
	require.Zero(t, testutil.CollectAndCount(g.started))
	require.Zero(t, testutil.CollectAndCount(g.expiry))
}

// TestARollbackIsShownFromStatus: by its time, which a pod that starts after the reboot reads too.
func TestARollbackIsShownFromStatus(t *testing.T) {
	g := newProgressGauges()
	at := metav1.NewTime(time.Unix(2000, 0))
	requested := metav1.Condition{Type: lcav1.ConditionRollbackCompleted, Status: metav1.ConditionTrue, LastTransitionTime: at}
	g.showProgress(lcav1.IPConfigStatus{Conditions: []metav1.Condition{requested}}, observation{})
	require.InDelta(t, 2000, testutil.ToFloat64(g.rolledBack.WithLabelValues("requested")), 0)

	failed := metav1.Condition{Type: lcav1.ConditionConfigCompleted, Status: metav1.ConditionFalse, Reason: lcav1.ReasonFailed, LastTransitionTime: at}
	o := observation{request: &ipconfig.Request{OldStateroot: "rhcos"}, booted: host.Deployment{Stateroot: "rhcos"}}
	o.progress.Rollback.Begun, o.progress.Cause = true, ipconfig.CauseWatchdog+": not healthy"
	g.showProgress(lcav1.IPConfigStatus{Conditions: []metav1.Condition{failed}}, o)
	require.InDelta(t, 2000, testutil.ToFloat64(g.rolledBack.WithLabelValues("watchdog")), 0)
	require.Equal(t, 1, testutil.CollectAndCount(g.rolledBack))
	g.showProgress(lcav1.IPConfigStatus{}, observation{})
	require.Zero(t, testutil.CollectAndCount(g.rolledBack))
}
