package trees

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("reason: owners, devices, labels and mounts need root")
	}
}

func TestRootOnlyAttributes(t *testing.T) {
	needRoot(t)
	tr, _, from, to := pair(t)
	p := func(name string) string { return filepath.Join(from, name) }
	require.NoError(t, os.Chown(p("log/messages"), 12, 34))
	require.NoError(t, os.Lchown(p("dangling"), 56, 78))
	require.NoError(t, os.Chown(p("empty"), 90, 91))
	require.NoError(t, os.Chown(p("zero"), 1, 1))
	require.NoError(t, os.Chmod(p("zero"), 0o755|os.ModeSetuid|os.ModeSetgid))
	require.NoError(t, unix.Mknod(p("dev-null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	require.NoError(t, unix.Mknod(p("whiteout"), unix.S_IFCHR, 0))
	setXattr(t, p("log/messages"), "security.selinux", "system_u:object_r:var_log_t:s0")
	setXattr(t, p("dangling"), "security.selinux", "system_u:object_r:var_t:s0")
	setXattr(t, p("empty"), "trusted.overlay.opaque", "y")
	setXattr(t, p("lib/etcd/member/db"), "security.capability", string(netAdminCap()))
	setXattr(t, p("deep"), "system.posix_acl_default", string(acl(0o7, 0o5, 0o5)))
	setXattr(t, p("deep/a/b/c/d/leaf"), "system.posix_acl_access", string(acl(0o6, 0o4, 0o0)))
	run(t, tr, host.CopyRequest{})
	requireSame(t, from, to)
	// A default ACL already on the target must not rub off on what is made below it.
	write(t, from, "deep/later", "x")
	require.NoError(t, os.Chown(p("lib/etcd/member/db"), 5, 5)) // takes the capability away
	run(t, tr, host.CopyRequest{})
	requireSame(t, from, to)
}

// netAdminCap is a file capability in the kernel's format (struct vfs_cap_data, revision 2).
func netAdminCap() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 0x02000001)
	for _, v := range []uint32{1 << 12, 0, 0, 0} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// acl is a POSIX ACL in the kernel's format (posix_acl_xattr_header) with one named user.
func acl(user, group, other uint16) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	add := func(tag, perm uint16, id uint32) {
		b = binary.LittleEndian.AppendUint16(b, tag)
		b = binary.LittleEndian.AppendUint16(b, perm)
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	const none = ^uint32(0)
	add(0x01, user, none)
	add(0x02, user, 1234)
	add(0x04, group, none)
	add(0x10, user, none)
	add(0x20, other, none)
	return b
}

func TestMountsAreNotCrossed(t *testing.T) {
	needRoot(t)
	tr, root, from, to := pair(t)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "images"), 0o700))
	write(t, root, "images/huge", "not to be copied")
	bind := func(at string) {
		// A bind mount of the same file system: the device number alone would not tell.
		if err := unix.Mount(filepath.Join(root, "images"), at, "", unix.MS_BIND, ""); err != nil {
			t.Skipf("reason: cannot mount here: %v", err)
		}
		t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
	}
	bind(filepath.Join(from, "empty"))
	run(t, tr, host.CopyRequest{})
	require.DirExists(t, filepath.Join(to, "empty"))
	require.NoFileExists(t, filepath.Join(to, "empty/huge"))

	used, err := tr.Usage(t.Context(), "/from")
	require.NoError(t, err)
	write(t, root, "images/more", string(make([]byte, 1<<20)))
	again, err := tr.Usage(t.Context(), "/from")
	require.NoError(t, err)
	require.Equal(t, used, again)

	// On the target side a mount is left alone too, and never emptied.
	bind(filepath.Join(to, "log"))
	run(t, tr, host.CopyRequest{})
	require.FileExists(t, filepath.Join(root, "images/huge"))
	require.NoError(t, os.RemoveAll(filepath.Join(from, "log")))
	_, err = tr.Mirror(t.Context(), host.CopyRequest{From: "/from", To: "/to"})
	require.ErrorIs(t, err, unix.EBUSY)
	require.FileExists(t, filepath.Join(root, "images/huge"))
}

// The booted stateroot's /var is mounted over itself, so that both sides lie on two mounts. The copy
// sees through that; what is mounted below the source stays out of sight.
func TestTwoMountsOfOneFileSystem(t *testing.T) {
	needRoot(t)
	tr, _, from, to := pair(t)
	if err := unix.Mount(from, from, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("reason: cannot mount here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(from, unix.MNT_DETACH) })
	require.NoError(t, os.Mkdir(to, 0o700))
	src, err := os.Open(from)
	require.NoError(t, err)
	defer src.Close()
	dst, err := os.Open(to)
	require.NoError(t, err)
	defer dst.Close()
	a, err := statFD(int(src.Fd()))
	require.NoError(t, err)
	b, err := statFD(int(dst.Fd()))
	require.NoError(t, err)
	require.NotEqual(t, a.mount(), b.mount())
	newSrc, newDst, ok := sameMount(int(src.Fd()), int(dst.Fd()), a, b)
	require.True(t, ok)
	defer closeAll(newSrc, newDst)
	c, err := statFD(int(newSrc.Fd()))
	require.NoError(t, err)
	d, err := statFD(int(newDst.Fd()))
	require.NoError(t, err)
	require.Equal(t, c.mount(), d.mount())

	run(t, tr, host.CopyRequest{})
	requireSame(t, from, to)
	_, err = tr.Mirror(t.Context(), host.CopyRequest{From: "/from", To: "/from/lib"})
	require.Error(t, err)
	require.Zero(t, run(t, tr, host.CopyRequest{}).Copied)
}

// TestSharesOnAFullFileSystemIsAnErrorThatSaysSo keeps apart what is full and what cannot share.
func TestSharesOnAFullFileSystemIsAnErrorThatSaysSo(t *testing.T) {
	needRoot(t)
	for name, options := range map[string]string{"no byte": "size=4k", "no inode": "nr_inodes=2"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, options))
			t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
			write(t, dir, "file", "x")
			_, err := New(Options{}).Shares(dir)
			require.ErrorIs(t, err, unix.ENOSPC)
		})
	}
}
