package lock_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/lock"
)

func TestSecondHolderIsToldWhoHoldsIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run", "lock")
	release, err := lock.Acquire(context.Background(), file, "ip-config pre-pivot")
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = lock.Acquire(ctx, file, "ip-config cleanup")
	var busy *lock.BusyError
	require.ErrorAs(t, err, &busy)
	require.Contains(t, busy.Holder, "ip-config pre-pivot (pid ")

	release()
	release, err = lock.Acquire(context.Background(), file, "ip-config cleanup")
	require.NoError(t, err)
	release()
}
