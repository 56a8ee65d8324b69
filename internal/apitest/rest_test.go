package apitest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestControllersThatAreNotAtRest(t *testing.T) {
	before := map[string]float64{"calm": 5, "busy": 5, "periodic": 5}
	after := map[string]float64{"calm": 5, "busy": 30000, "periodic": 8, "new": 4}
	require.Equal(t, map[string]float64{"busy": 29995, "new": 4}, tooMany(before, after, nil))
	require.Empty(t, tooMany(before, after, []string{"calm", "periodic", "absent"}))
}
