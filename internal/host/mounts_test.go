package host

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMountsAreFound(t *testing.T) {
	all := ParseMounts("21 1 8:4 / / rw,relatime shared:1 - xfs /dev/sda4 rw\n" +
		"22 21 8:3 /old /boot rw - ext4 /dev/sda3 rw\n" +
		"23 22 8:3 / /boot rw master:1 - ext4 /dev/sda3 rw\n" +
		`24 21 0:40 / /a\040b rw - overlay overlay rw,upperdir=/run/up` + "\n" +
		"no mount\n")
	require.Len(t, all, 4)
	require.Equal(t, Mount{ID: 23, Device: "8:3", Root: "/", Point: "/boot", Kind: "ext4", Source: "/dev/sda3", Options: "rw"},
		MountOf(all, "/boot/grub2"), "the last one hides those before")
	require.Equal(t, "/", MountOf(all, "/bootstrap").Point, "a name that only begins alike")
	require.Equal(t, "overlay", MountOf(all, "/a b/c").Kind)
	require.Equal(t, Mount{}, MountOf(nil, "/"))
	at, found := MountAt(all, "/boot")
	require.True(t, found)
	require.Equal(t, uint64(23), at.ID)
	_, found = MountAt(all, "/boot/grub2")
	require.False(t, found)
}
