package lab

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheInotifyLimitIsRaised(t *testing.T) {
	for _, c := range []struct{ name, before, after, refusal string }{
		{"too low", "128\n", "1024", ""},
		{"high enough", "8192\n", "8192\n", ""},
		{"unreadable", "many", "many", "read how many inotify instances nodes may have"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "max_user_instances")
			require.NoError(t, os.WriteFile(file, []byte(c.before), 0o600))
			if err := raiseInotifyLimit(file); c.refusal == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.refusal)
			}
			after, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, c.after, string(after))
		})
	}
	require.ErrorContains(t, raiseInotifyLimit(filepath.Join(t.TempDir(), "absent")), "inotify instances")
}
