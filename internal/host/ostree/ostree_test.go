package ostree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
)

var _ host.Deployments = (*Deployments)(nil)

func TestListReadsTheMenu(t *testing.T) {
	f, d := booted(t)
	f.initStateroot("new")
	f.deployed = append(f.deployed, host.Deployment{Stateroot: "new", Checksum: checksum, Serial: 2},
		host.Deployment{Stateroot: "old", Checksum: strings.Repeat("ee", 32)})
	for _, dep := range f.deployed[1:] {
		f.checkout(dep)
	}
	f.writeMenu()
	f.boot("ostree=" + f.link(0))
	// Entries that are not ostree's are not looked at, nor is the order of file names.
	require.NoError(t, os.WriteFile(f.path("boot/loader/entries/zz-memtest.conf"), []byte("title x\n"), 0o644))
	all, err := d.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []host.Deployment{
		{Index: 0, Stateroot: "old", Checksum: checksum, Default: true},
		{Index: 1, Stateroot: "new", Checksum: checksum, Serial: 2},
		{Index: 2, Stateroot: "old", Checksum: strings.Repeat("ee", 32)},
	}, unbooted(all))
}

func unbooted(all []host.Deployment) []host.Deployment {
	for i := range all {
		all[i].Booted = false
	}
	return all
}

func TestEntriesSortByNumber(t *testing.T) {
	f, d := booted(t)
	for i := 2; i <= 11; i++ {
		text := fmt.Sprintf("version %d\noptions quiet ostree=%s\n", i, f.link(0))
		require.NoError(t, os.WriteFile(f.path(fmt.Sprintf("boot/loader/entries/ostree-%d.conf", i)), []byte(text), 0o644))
	}
	menu, err := d.readEntries()
	require.NoError(t, err)
	require.Equal(t, 11, menu[0].version)
	require.Equal(t, 1, menu[len(menu)-1].version)
}

func TestBootedIsFoundHoweverTheMenuMoved(t *testing.T) {
	for name, arrange := range map[string]func(f *fakeOstree){
		"link in the kernel arguments": func(*fakeOstree) {},
		"menu rewritten since boot": func(f *fakeOstree) {
			f.deployed = append([]host.Deployment{{Stateroot: "new", Checksum: checksum}}, f.deployed...)
			f.checkout(f.deployed[0])
			f.writeMenu()
		},
		"same folder": func(f *fakeOstree) {
			require.NoError(f.t, os.Symlink(f.path(f.deployed[0].InDeployment("etc"))[len(f.root):], f.path("etc")))
			f.boot("root=LABEL=root ostree=/ostree/boot.1/nonsense/xx/0")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, d := booted(t)
			arrange(f)
			all, err := d.List(t.Context())
			require.NoError(t, err)
			b, err := host.Booted(all)
			require.NoError(t, err)
			require.Equal(t, "old", b.Stateroot)
		})
	}
}

func TestBootedIsNotGuessed(t *testing.T) {
	f, d := booted(t)
	f.deployed = append(f.deployed, host.Deployment{Stateroot: "old", Checksum: strings.Repeat("ee", 32)})
	f.checkout(f.deployed[1])
	f.writeMenu() // two of "old" with one kernel, and the link of the boot is gone
	_, err := d.List(t.Context())
	require.ErrorContains(t, err, "two deployments fit")
	f.boot("root=/dev/sda1")
	_, err = d.List(t.Context())
	require.ErrorContains(t, err, "not a running ostree system")
}

func TestBrokenMenu(t *testing.T) {
	f, d := booted(t)
	entry := f.path("boot/loader/entries/ostree-2.conf")
	for _, text := range []string{"version x\noptions ostree=/a", "options ostree=/a", "version 2\noptions quiet",
		"version 2\noptions ostree=/ostree/boot.1/old/zz/7"} {
		require.NoError(t, os.WriteFile(entry, []byte(text), 0o644))
		_, err := d.List(t.Context())
		require.ErrorContains(t, err, "ostree-2.conf", text)
	}
	require.NoError(t, os.RemoveAll(f.path("boot/loader")))
	_, err := d.List(t.Context())
	require.ErrorContains(t, err, "no ostree entries")
}

func TestCanSetDefault(t *testing.T) {
	f, d := booted(t)
	require.NoError(t, d.CanSetDefault(t.Context()))
	require.NoError(t, os.WriteFile(f.path(stagedFile), nil, 0o600))
	require.ErrorContains(t, d.CanSetDefault(t.Context()), "staged")
	_, err := d.Clone(t.Context(), "new")
	require.ErrorContains(t, err, "staged")
	require.NoError(t, os.Remove(f.path(stagedFile)))
	f.help = "  deploy\n  undeploy\n"
	require.ErrorContains(t, d.CanSetDefault(t.Context()), "set-default")
}

func TestCloneCommandLine(t *testing.T) {
	f, d := booted(t)
	_, err := d.Clone(t.Context(), "new")
	require.NoError(t, err)
	require.Equal(t, []string{
		"ostree admin os-init new",
		"ostree admin deploy --os=new --retain --no-prune --not-as-default" +
			" --karg-none --karg-append=root=LABEL=root --karg-append=rw --origin-file=/ostree/deploy/old/deploy/" + checksum + ".0.origin " + checksum,
	}, f.calls)
}

// TestACloneHasTheArgumentsOfTheBootEntry and not those of this boot alone.
func TestACloneHasTheArgumentsOfTheBootEntry(t *testing.T) {
	f, d := booted(t)
	f.options = "$ignition_firstboot console=tty0 console=ttyS0,115200n8"
	f.writeMenu()
	f.boot("BOOT_IMAGE=(hd0)/vmlinuz ignition.firstboot=1 single console=tty0 ostree=" + f.link(0))
	have, err := d.KernelArguments(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"root=LABEL=root", "rw", "$ignition_firstboot", "console=tty0", "console=ttyS0,115200n8"}, have)
	_, err = d.Clone(t.Context(), "new")
	require.NoError(t, err)
	line := f.calls[len(f.calls)-1]
	require.Contains(t, line, "--karg-none --karg-append=root=LABEL=root --karg-append=rw --karg-append=$ignition_firstboot "+
		"--karg-append=console=tty0 --karg-append=console=ttyS0,115200n8 ")
	require.NotContains(t, line, "single")
}

// TestACloneCanHaveArgumentsOfItsOwn in place of those of the boot entry.
func TestACloneCanHaveArgumentsOfItsOwn(t *testing.T) {
	f, d := booted(t)
	_, err := d.Clone(t.Context(), "new", "rw", "ip=198.51.100.20::198.51.100.1:24::eno1:none")
	require.NoError(t, err)
	require.Contains(t, f.calls[len(f.calls)-1], "--karg-none --karg-append=rw --karg-append=ip=198.51.100.20::198.51.100.1:24::eno1:none --origin-file")
}

func TestCloneAfterEachInterruption(t *testing.T) {
	for _, command := range []string{"os-init", "deploy"} {
		t.Run(command, func(t *testing.T) {
			f, d := booted(t)
			f.fail = command
			_, err := d.Clone(t.Context(), "new")
			require.Error(t, err)
			f.fail = ""
			dep, err := d.Clone(t.Context(), "new")
			require.NoError(t, err)
			require.Equal(t, "new", dep.Stateroot)
			require.DirExists(t, f.path(host.InVar("new", "var")))
		})
	}
}

func TestRemoveAfterEachInterruption(t *testing.T) {
	for _, command := range []string{"os-init", "deploy", "undeploy", "cleanup"} {
		t.Run(command, func(t *testing.T) {
			f, d := booted(t)
			f.fail = command
			_, _ = d.Clone(t.Context(), "new")
			_ = d.Remove(t.Context(), "new")
			f.fail = ""
			require.NoError(t, d.Remove(t.Context(), "new"))
			require.Len(t, f.deployed, 1)
			require.NoDirExists(t, f.path("ostree/deploy/new"))
		})
	}
}

func TestRemoveTakesItsKernelsOutOfBoot(t *testing.T) {
	f, d := booted(t)
	others := []string{"old-" + bootChecksum, "new-er-" + bootChecksum, "new-not-a-checksum"}
	for _, name := range others {
		require.NoError(t, os.MkdirAll(f.path("boot/ostree", name), 0o755))
	}
	_, err := d.Clone(t.Context(), "new")
	require.NoError(t, err)
	require.DirExists(t, f.path("boot/ostree/new-"+bootChecksum))
	require.NoError(t, d.Remove(t.Context(), "new"))
	require.NoDirExists(t, f.path("boot/ostree/new-"+bootChecksum))
	for _, name := range others {
		require.DirExists(t, f.path("boot/ostree", name))
	}
}

// TestACleanupNamesWhatIsMounted in the stateroot that is left, and how to go on. What is mounted stays as it is.
func TestACleanupNamesWhatIsMounted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("reason: a mount needs root")
	}
	f, d := booted(t)
	_, err := d.Clone(t.Context(), "new")
	require.NoError(t, err)
	target := f.path(host.InVar("new", "/mnt/data"))
	require.NoError(t, os.MkdirAll(target, 0o755))
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(outside+"/precious", nil, 0o600))
	if err := unix.Mount(outside, target, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("reason: cannot mount here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(target, unix.MNT_DETACH) })
	err = d.Remove(t.Context(), "new")
	require.ErrorContains(t, err, "new/mnt/data is a mount point: device or resource busy: unmount what is mounted there "+
		"('findmnt -l | grep /ostree/deploy/new')")
	require.ErrorIs(t, err, host.ErrHeld)
	require.FileExists(t, outside+"/precious")
	require.NoError(t, unix.Unmount(target, 0))
	require.NoError(t, d.Remove(t.Context(), "new"))
}

func TestRemoveTakesTheLastIndexFirst(t *testing.T) {
	f, d := booted(t)
	_, err := d.Clone(t.Context(), "new")
	require.NoError(t, err)
	f.deployed = append(f.deployed, host.Deployment{Stateroot: "new", Checksum: strings.Repeat("ee", 32)})
	f.checkout(f.deployed[2])
	f.writeMenu()
	f.calls = nil
	require.NoError(t, d.Remove(t.Context(), "new"))
	require.Equal(t, []string{
		"ostree admin status", "ostree admin undeploy 2", "ostree admin status", "ostree admin undeploy 1", "ostree admin cleanup",
	}, f.calls)
	f.calls = nil
	require.NoError(t, d.Remove(t.Context(), "new"))
	require.Empty(t, f.calls, "nothing there counts as removed")
}

func TestDisagreementAboutTheIndexStopsEverything(t *testing.T) {
	f, d := booted(t)
	_, err := d.Clone(t.Context(), "new")
	require.NoError(t, err)
	f.deployed[0], f.deployed[1] = f.deployed[1], f.deployed[0] // the menu on disk still says otherwise
	f.calls = nil
	require.ErrorContains(t, d.SetDefault(t.Context(), "new"), "counts")
	require.ErrorContains(t, d.Remove(t.Context(), "new"), "counts")
	require.Equal(t, []string{"ostree admin status", "ostree admin status"}, f.calls)
}

func TestParseStatus(t *testing.T) {
	text := "* old " + checksum + ".0\n    Version: 1.0\n    origin refspec: a:b\n" +
		"  new " + checksum + ".12 (pending)\n    Pinned: yes\n"
	require.Equal(t, []host.Deployment{
		{Index: 0, Stateroot: "old", Checksum: checksum},
		{Index: 1, Stateroot: "new", Checksum: checksum, Serial: 12},
	}, parseStatus(text))
	require.Empty(t, parseStatus("No deployments.\n"))
}

func TestWritableSysrootNeedsANamespaceOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	for name, target := range map[string]string{"self": "mnt:[1]", "init": "mnt:[1]", "other": "mnt:[2]"} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	private, err := privateMounts(filepath.Join(dir, "self"), filepath.Join(dir, "init"))
	require.NoError(t, err)
	require.False(t, private)
	private, err = privateMounts(filepath.Join(dir, "self"), filepath.Join(dir, "other"))
	require.NoError(t, err)
	require.True(t, private)
	_, err = privateMounts(filepath.Join(dir, "none"), filepath.Join(dir, "other"))
	require.Error(t, err, "what cannot be told apart is not private")
}

func TestContract(t *testing.T) {
	hostcontract.TestDeployments(t, func(t *testing.T) hostcontract.DeploymentsFixture {
		_, d := booted(t)
		return hostcontract.DeploymentsFixture{Deployments: d, Files: d.files}
	})
}

func TestCommitsContract(t *testing.T) {
	hostcontract.TestCommits(t, func(t *testing.T) hostcontract.CommitsFixture {
		f, d := booted(t)
		const repo = "/var/unpacked"
		require.NoError(t, d.files.Write(repo+"/config", []byte("[core]\n"), 0o600))
		require.FileExists(t, f.path(repo, "config"))
		return hostcontract.CommitsFixture{Commits: d, Deployments: d, Repo: repo, Checksum: strings.Repeat("ef56", 16)}
	})
}
