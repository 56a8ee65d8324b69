package condition

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func TestStatesAreReadBack(t *testing.T) {
	var conditions []nmstatev1.Condition
	for i, s := range []State{Pending, Progressing, Retrying, Failed, Available, Aborted, Unknown, Pending} {
		at := noon.Add(time.Duration(i) * time.Minute)
		conditions = SetEnactment(conditions, s, "why", at)
		require.Len(t, conditions, len(enactmentTypes))
		got, since := Of(conditions)
		require.Equal(t, s, got)
		if s != Unknown && s != Failed { // Failing is True from the retries on
			require.Equal(t, at, since.UTC(), s)
		}
		for _, c := range conditions {
			require.Equal(t, c.Status == yes, c.Message == "why", "%s %s", s, c.Type)
		}
	}
}

func TestTheTransitionTimeMovesWithTheStatus(t *testing.T) {
	first := SetPolicy(nil, PolicyProgressing, "0/2", noon)
	second := SetPolicy(first, PolicyProgressing, "1/2", noon.Add(time.Minute))
	require.Equal(t, noon, second[2].LastTransitionTime.UTC())
	require.Equal(t, noon.Add(time.Minute), second[2].LastHeartbeatTime.UTC())
	require.False(t, Same(first, second))
	require.True(t, Same(second, SetPolicy(second, PolicyProgressing, "1/2", noon.Add(time.Hour))), "heartbeats alone say nothing new")
}

// TestFailedPolicyKeepsTheReasonOfProgressing as kubernetes-nmstate does.
func TestFailedPolicyKeepsTheReasonOfProgressing(t *testing.T) {
	c := SetPolicy(nil, PolicyFailed, "1/2 nodes failed to configure", noon)
	require.Equal(t, []string{"FailedToConfigure", "FailedToConfigure", "ConfigurationProgressing", "FailedToConfigure"},
		[]string{c[0].Reason, c[1].Reason, c[2].Reason, c[3].Reason})
}

func TestPutRemoves(t *testing.T) {
	c := Put(nil, nmstatev1.Condition{Type: "Conflicting", Status: yes, Reason: "R"}, noon)
	require.Len(t, c, 1)
	require.Empty(t, Put(c, nmstatev1.Condition{Type: "Conflicting"}, noon))
}
