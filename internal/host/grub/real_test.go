package grub

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
)

// bootConfig is what matters of the configuration that CoreOS installs, with the given file for additions.
const bootConfig = `search --label boot --set boot --no-floppy
set root=$boot
if [ -s $prefix/grubenv ]; then
  load_env
fi
serial --speed=115200
terminal_input serial console
terminal_output serial console
set timeout=1
`

// on is the adapter over the machine's /boot, with the two systems that it has.
func (m *machine) on(t *testing.T) (*GRUB, host.Deployment) {
	n := &node{t: t, root: filepath.Join(m.dir, "root"), all: []host.Deployment{
		{Stateroot: "old", Checksum: "aa", Booted: true, Default: true}, {Stateroot: "new", Checksum: "aa", Index: 1}}}
	n.grub = New(files.New(n.root), n)
	return n.grub, n.all[1]
}

func (m *machine) chooseOnce(t *testing.T) {
	m.whileOff(func() {
		g, fresh := m.on(t)
		require.NoError(t, g.Install(t.Context()))
		require.NoError(t, g.ChooseOnce(t.Context(), fresh))
		d, found, err := g.ChosenOnce(t.Context())
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, fresh, d)
	})
}

// TestRealGRUBLeavesASystemThatDoesNotComeUp boots an emulated PC: the new system panics, or hangs until its power is cut.
func TestRealGRUBLeavesASystemThatDoesNotComeUp(t *testing.T) {
	const custom = "blscfg\nif [ -f $prefix/custom.cfg ]; then\n  source $prefix/custom.cfg\nfi\n"
	const user = "if [ -f $prefix/user.cfg ]; then\n  source $prefix/user.cfg\nfi\nblscfg\n"
	t.Run("panic", func(t *testing.T) {
		m := newMachine(t, bootConfig+user, "panic")
		m.chooseOnce(t)
		require.Equal(t, []string{"new", "old"}, m.start(""))
		require.Contains(t, m.console(), "Kernel panic")
	})
	t.Run("hang", func(t *testing.T) {
		m := newMachine(t, bootConfig+custom, "hang")
		m.chooseOnce(t)
		require.Equal(t, []string{"new"}, m.start("STARTED new"))
		require.Equal(t, []string{"old"}, m.start(""))
		m.whileOff(func() {
			g, _ := m.on(t)
			_, found, err := g.ChosenOnce(t.Context())
			require.NoError(t, err)
			require.False(t, found, "GRUB has cleared it")
		})
	})
}

// TestRealGRUBStaysWithTheDefaultWhereItCannotClear: a choice that would stay is not followed.
func TestRealGRUBStaysWithTheDefaultWhereItCannotClear(t *testing.T) {
	m := newMachine(t, bootConfig+"if [ -f $prefix/user.cfg ]; then\n  source $prefix/user.cfg\nfi\nblscfg\n", "hang")
	m.chooseOnce(t)
	m.whileOff(func() {
		// GRUB reads a file with a hole, and does not write to it.
		require.NoError(t, os.Truncate(filepath.Join(m.boot, "grub2", blockName), 64<<10))
	})
	require.Equal(t, []string{"old"}, m.start(""))
}

// TestRealGRUBForgetsAChoiceThatWasTakenBack leaves /boot as it was.
func TestRealGRUBForgetsAChoiceThatWasTakenBack(t *testing.T) {
	m := newMachine(t, bootConfig+"if [ -f $prefix/user.cfg ]; then\n  source $prefix/user.cfg\nfi\nblscfg\n", "hang")
	m.chooseOnce(t)
	m.whileOff(func() {
		g, _ := m.on(t)
		require.NoError(t, g.Uninstall(t.Context()))
		names, err := os.ReadDir(filepath.Join(m.boot, "grub2"))
		require.NoError(t, err)
		require.Len(t, names, 1, "grub.cfg alone")
	})
	require.Equal(t, []string{"old"}, m.start(""))
}
