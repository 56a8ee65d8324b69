package ipconfig

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

func TestProgressGaugesShowWhatRunsAndTheWayBack(t *testing.T) {
	g := newProgressGauges()
	at := metav1.NewTime(time.Unix(1000, 0))
	g.show(lcav1.IPConfigStatus{History: []lcav1.StageHistory{{Stage: "Config", StartTime: &at}}, RollbackAvailabilityExpiration: &at})
	require.InDelta(t, 1000, testutil.ToFloat64(g.started.WithLabelValues("Config")), 0)
	require.InDelta(t, 1000, testutil.ToFloat64(g.expiry.WithLabelValues()), 0)
	g.show(lcav1.IPConfigStatus{History: []lcav1.StageHistory{{Stage: "Config", StartTime: &at, CompletionTime: &at}}})
	require.Zero(t, testutil.CollectAndCount(g.started))
	require.Zero(t, testutil.CollectAndCount(g.expiry))
}
