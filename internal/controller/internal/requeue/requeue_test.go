package requeue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/requeue"
)

func TestTheSoonerOfTwoWaits(t *testing.T) {
	for _, c := range []struct{ a, b, want time.Duration }{
		{0, 0, 0}, {time.Second, 0, time.Second}, {0, time.Second, time.Second}, {time.Minute, time.Second, time.Second},
		{time.Second, time.Minute, time.Second}, {-time.Second, time.Minute, time.Minute}, {-time.Second, 0, 0},
	} {
		require.Equal(t, c.want, requeue.Sooner(c.a, c.b), "%s and %s", c.a, c.b)
	}
}
