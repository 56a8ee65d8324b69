package kinds

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// A list with a pool whose quarantine is no duration is read, and only that pool is refused.
func TestQuarantineThatIsNoDuration(t *testing.T) {
	list := &metal3.IPPoolList{}
	require.NoError(t, json.Unmarshal([]byte(`{"items":[
		{"metadata":{"namespace":"n","name":"days"},"spec":{"quarantine":"1d","pools":[{"subnet":"192.0.2.0/24"}]}},
		{"metadata":{"namespace":"n","name":"hours"},"spec":{"quarantine":"24h","pools":[{"subnet":"192.0.2.0/24"}]}}]}`), list))
	_, err := Spec(&list.Items[0])
	require.EqualError(t, err, `pool n/days: quarantine: "1d" is not a duration such as 30m or 24h`)
	spec, err := Spec(&list.Items[1])
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, spec.Quarantine)
}
