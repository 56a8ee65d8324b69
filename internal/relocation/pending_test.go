package relocation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
)

// What was asked of a program from before the name of the file changed is carried out, and forgotten with the newer one.
func TestPendingRequestsAreReadUnderBothNames(t *testing.T) {
	asked := relocation.Pending{Action: relocation.PendingRollback, Cause: "a person", Asked: time.Unix(1, 0).UTC()}
	for _, name := range []string{relocation.PendingFile, relocation.OlderPendingFile} {
		t.Run(name, func(t *testing.T) {
			files := hosttest.NewNode(hosttest.Options{}).Files()
			require.NoError(t, operation.WriteJSON(files, name, asked))
			got, found, err := relocation.ReadPending(files)
			require.NoError(t, err)
			require.True(t, found)
			require.Equal(t, asked, got)
			require.NoError(t, relocation.ForgetPending(files))
			_, found, err = relocation.ReadPending(files)
			require.NoError(t, err)
			require.False(t, found)
		})
	}
}
