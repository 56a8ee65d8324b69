package registry

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A slow line is no fault: an upload that takes longer than the patience for silence goes on as long as something moves, and ends where
// nothing does.
func TestASlowUploadGoesOnAndASilentOneEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const patience = 3 * time.Minute
		ctx, stop := withStallWatch(t.Context(), patience)
		body := &watched{io.NopCloser(strings.NewReader("a slow upload")), ctx}
		for range 10 {
			time.Sleep(patience - time.Second)
			_, err := body.Read(make([]byte, 1))
			require.NoError(t, err)
			synctest.Wait()
			require.NoError(t, ctx.Err())
		}
		time.Sleep(patience)
		synctest.Wait()
		require.Error(t, ctx.Err())
		_, err := body.Read(make([]byte, 1))
		require.NoError(t, err)
		require.True(t, stop(), "it says that it was the silence")
	})
}
