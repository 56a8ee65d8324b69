package operation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// recorded is a node that runs stateroot "new", which an operation made from "old".
func recorded(t *testing.T) (*hosttest.Node, host.Deployment, operation.Stateroot) {
	t.Helper()
	node := hosttest.NewNode(hosttest.Options{Stateroot: "new"})
	all, err := node.Deployments().List(t.Context())
	require.NoError(t, err)
	booted, err := host.Booted(all)
	require.NoError(t, err)
	made := operation.Stateroot{MadeBy: "move", Operation: "op", Made: time.Unix(1e9, 0).UTC(),
		WayBack: &operation.Deployed{Stateroot: "old", Checksum: "aa", Serial: 1}}
	return node, booted, made
}

func TestARecordSurvivesTheLossOfEitherFolder(t *testing.T) {
	for _, lost := range []string{host.StateDir, "/etc/lifecycle-agent"} {
		node, booted, made := recorded(t)
		files := node.Files()
		require.NoError(t, operation.WriteStateroot(files, booted, made))
		require.NoError(t, files.Remove(lost))
		have, found, err := operation.ReadStateroot(files, booted)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, made.WayBack, have.WayBack)
		require.NoError(t, operation.Heal(files, booted))
		for _, file := range []string{operation.StaterootFile, operation.StaterootCopy} {
			_, err := files.Stat(file)
			require.NoError(t, err)
		}
		require.NoError(t, operation.End(files, booted, made, time.Unix(2e9, 0)))
		have, found, err = operation.ReadStateroot(files, booted)
		require.NoError(t, err)
		require.True(t, found)
		require.Nil(t, have.WayBack)
		require.Equal(t, made.Made, have.Made)
	}
}

// TestTheLaterCopyCounts cuts a write between the two files.
func TestTheLaterCopyCounts(t *testing.T) {
	node, booted, made := recorded(t)
	files := node.Files()
	require.NoError(t, operation.WriteStateroot(files, booted, made))
	before, err := files.Read(operation.StaterootCopy)
	require.NoError(t, err)
	require.NoError(t, operation.End(files, booted, made, time.Unix(2e9, 0)))
	require.NoError(t, files.Write(operation.StaterootCopy, before, 0o600))
	have, found, err := operation.ReadStateroot(files, booted)
	require.NoError(t, err)
	require.True(t, found)
	require.Nil(t, have.WayBack)
}

func TestWhatIsNotARecordOfThisStaterootSaysNothing(t *testing.T) {
	for name, text := range map[string]string{
		"damaged": "{", "of a later version": `{"v":9,"revision":7,"stateroot":"new"}`, "copied": `{"v":1,"revision":7,"stateroot":"old"}`,
	} {
		node, booted, made := recorded(t)
		files := node.Files()
		for _, file := range []string{operation.StaterootFile, operation.StaterootCopy} {
			require.NoError(t, files.Write(file, []byte(text), 0o600))
		}
		_, found, err := operation.ReadStateroot(files, booted)
		require.False(t, found, name)
		require.Equal(t, name != "copied", err != nil, name)
		require.NoError(t, operation.Confirm(files, booted, made, time.Unix(2e9, 0)))
		have, found, err := operation.ReadStateroot(files, booted)
		require.NoError(t, err)
		require.True(t, found, name)
		require.False(t, have.Confirmed.IsZero())
		require.Equal(t, made.WayBack, have.WayBack)
	}
}

// TestTheRecordOfAnotherStaterootIsReadWhereItLies reads it from the system that runs.
func TestTheRecordOfAnotherStaterootIsReadWhereItLies(t *testing.T) {
	node, booted, made := recorded(t)
	other, err := node.Deployments().Clone(t.Context(), "copy")
	require.NoError(t, err)
	require.NoError(t, operation.WriteStateroot(node.Files(), other, made))
	have, found, err := operation.ReadStateroot(node.Files(), other)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "copy", have.Stateroot)
	_, found, err = operation.ReadStateroot(node.Files(), booted)
	require.NoError(t, err)
	require.False(t, found)
}
