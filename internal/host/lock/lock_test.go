package lock_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/lock"
)

// holdFor makes this test program a holder of the lock below the named root, as another process.
const holdFor = "LCA_TEST_HOLD"

func TestMain(m *testing.M) {
	root := os.Getenv(holdFor)
	if root == "" {
		os.Exit(m.Run())
	}
	var h host.Holder
	if err := json.NewDecoder(os.Stdin).Decode(&h); err != nil {
		panic(err)
	}
	if _, err := lock.New(root).Acquire(context.Background(), h); err != nil {
		panic(err)
	}
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin) // until killed, or the test is gone
}

// other starts a process that holds the lock.
func other(t *testing.T, root string, h host.Holder) (kill func()) {
	t.Helper()
	data, err := json.Marshal(h)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holdFor+"="+root)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = in.Close() })
	_, err = in.Write(data)
	require.NoError(t, err)
	said := make([]byte, 4)
	_, err = io.ReadFull(out, said)
	require.NoError(t, err)
	require.Equal(t, "held", string(said))
	return func() {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
}

func TestLockKeepsTheContract(t *testing.T) {
	hostcontract.TestLock(t, func(t *testing.T) hostcontract.LockFixture {
		root := t.TempDir()
		var kills []func()
		// The lock has this very array, so that a flow can be reserved later.
		flows := []host.Reservation{{Unfinished: func(context.Context) (host.Holder, bool, error) { return host.Holder{}, false, nil }}}
		return hostcontract.LockFixture{
			Lock: lock.New(root, flows...), Reserve: func(s host.Reservation) { flows[0] = s },
			Other: func(t *testing.T, h host.Holder) func() {
				kill := other(t, root, h)
				kills = append(kills, kill)
				return kill
			},
			Reboot: func(*testing.T) {
				for _, kill := range kills {
					kill()
				}
			},
		}
	})
}

// TestAStaleNameIsNotBelieved: somebody else holds the lock, and the file still names one who died, or
// who lived before the last boot.
func TestAStaleNameIsNotBelieved(t *testing.T) {
	boot, err := os.ReadFile(host.BootIDFile)
	require.NoError(t, err)
	for name, left := range map[string]host.Holder{
		"dead process":    {Operation: "op", Program: "gone", PID: 1 << 30, Boot: string(boot[:len(boot)-1]), Since: time.Now()},
		"earlier boot":    {Operation: "op", Program: "gone", PID: os.Getpid(), Boot: "another", Since: time.Now()},
		"said nothing":    {},
		"not of this use": {Program: "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			file := filepath.Join(root, host.LockFile)
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			data, err := json.Marshal(left)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, data, 0o600))
			l := lock.New(root)
			_, held, err := l.Holder(t.Context())
			require.NoError(t, err)
			require.False(t, held, "a name holds nothing")

			f, err := os.Open(file) // as flock(1) does
			require.NoError(t, err)
			t.Cleanup(func() { _ = f.Close() })
			require.NoError(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
			h, held, err := l.Holder(t.Context())
			require.NoError(t, err)
			require.True(t, held)
			require.Equal(t, "an unidentified program", h.String())
		})
	}
}

func TestTheLockIsForRootOnly(t *testing.T) {
	root := t.TempDir()
	release, err := lock.New(root).Acquire(t.Context(), host.Holder{Operation: "op", Program: "p"})
	require.NoError(t, err)
	defer release()
	for file, mode := range map[string]os.FileMode{host.LockFile: 0o600, filepath.Dir(host.LockFile): 0o700} {
		info, err := os.Stat(filepath.Join(root, file))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm())
	}
}
