package kernel

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

// attributes are those of one bond, as the kernel holds them: an empty line unsets the option.
type attributes struct {
	primary string
	writes  int
}

const primaryFile = "/sys/class/net/bond0/bonding/primary"

func (a *attributes) Read(path string) ([]byte, error) {
	if path != primaryFile {
		return nil, fs.ErrNotExist
	}
	return []byte(a.primary), nil
}

func (a *attributes) Append(path string, data []byte, _ fs.FileMode) error {
	if path != primaryFile {
		return fs.ErrNotExist
	}
	a.writes++
	if a.primary = string(data); a.primary == "\n" {
		a.primary = ""
	}
	return nil
}

func TestClearPrimary(t *testing.T) {
	a := &attributes{primary: "nic1\n"}
	require.NoError(t, ClearPrimary(a, "bond0"))
	require.Empty(t, a.primary)
	require.NoError(t, ClearPrimary(a, "bond0"))
	require.Equal(t, 1, a.writes, "what is in place is not written again")
	require.NoError(t, SetPrimary(a, "bond0", "nic2"))
	require.Equal(t, "nic2\n", a.primary)
	require.ErrorIs(t, ClearPrimary(a, "bond9"), fs.ErrNotExist)
}
