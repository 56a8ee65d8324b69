package shipped_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/shipped"
)

func TestTheShippedProgramIsInstalled(t *testing.T) {
	long := bytes.Repeat([]byte("lca-cli"), 50_000)
	for name, have := range map[string][]byte{
		"none": nil, "another one": []byte("lca-cli of the version before"), "the first part of it": long[:128<<10],
		"more than it": append(bytes.Clone(long), "!"...), "it": long,
	} {
		for _, at := range []string{host.CLI, host.CLIInVar} {
			t.Run(name+" in "+at, func(t *testing.T) {
				root, program := t.TempDir(), filepath.Join(t.TempDir(), "lca-cli")
				require.NoError(t, os.WriteFile(program, long, 0o755))
				if at == host.CLIInVar {
					require.NoError(t, os.MkdirAll(filepath.Join(root, host.DeployDir), 0o755))
				}
				installed := filepath.Join(root, at)
				var before os.FileInfo
				if have != nil {
					require.NoError(t, os.MkdirAll(filepath.Dir(installed), 0o755))
					require.NoError(t, os.WriteFile(installed, have, 0o755))
					info, err := os.Stat(installed)
					require.NoError(t, err)
					before = info
				}
				require.NoError(t, (&shipped.Program{Node: files.New(root), Path: program}).Install())
				got, err := os.ReadFile(installed)
				require.NoError(t, err)
				require.True(t, bytes.Equal(long, got))
				after, err := os.Stat(installed)
				require.NoError(t, err)
				require.Equal(t, os.FileMode(0o755), after.Mode().Perm())
				require.Equal(t, name == "it", before != nil && os.SameFile(before, after), "it is written only if it differs")
			})
		}
	}
}

func TestAProgramThatIsMissingIsNamed(t *testing.T) {
	root := t.TempDir()
	err := (&shipped.Program{Node: files.New(root), Path: filepath.Join(root, "absent")}).Install()
	require.ErrorContains(t, err, "read the lca-cli of the agent")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// opens counts how often the node's file is opened, which is to compare it.
type opens struct {
	*files.Files
	count int
}

func (o *opens) Open(path string, flags int) (*os.File, error) {
	o.count++
	return o.Files.Open(path, flags)
}

func TestFilesThatHaveNotChangedAreComparedOnce(t *testing.T) {
	root, program := t.TempDir(), filepath.Join(t.TempDir(), "lca-cli")
	require.NoError(t, os.WriteFile(program, []byte("new"), 0o755))
	node := &opens{Files: files.New(root)}
	p := &shipped.Program{Node: node, Path: program}
	installed := filepath.Join(root, host.CLI)
	install := func(compared bool) {
		t.Helper()
		node.count = 0
		require.NoError(t, p.Install())
		require.Equal(t, compared, node.count > 0)
		got, err := os.ReadFile(installed)
		require.NoError(t, err)
		want, err := os.ReadFile(program)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	install(true)
	install(true) // what was written is compared
	install(false)
	install(false)
	require.NoError(t, os.WriteFile(installed, []byte("old"), 0o755)) // another program changes it
	later := time.Now().Add(time.Minute)
	require.NoError(t, os.Chtimes(installed, later, later))
	install(true)
	install(true)
	install(false)
	require.NoError(t, os.WriteFile(program+".next", []byte("agent"), 0o755))
	require.NoError(t, os.Rename(program+".next", program)) // an update of the agent
	install(true)
	install(true)
	install(false)
	require.NoError(t, os.Remove(installed))
	install(true)
}
