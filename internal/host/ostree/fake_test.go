package ostree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

var (
	checksum     = strings.Repeat("ab12", 16)
	bootChecksum = strings.Repeat("cd34", 16)
)

// fakeOstree answers `ostree admin` on a sysroot in a temporary folder, with the layout and
// the habits of the real one: each change writes a new menu under another boot version and
// deletes the old links.
type fakeOstree struct {
	t        *testing.T
	root     string
	deployed []host.Deployment
	version  int
	calls    []string
	// commits are those of the repository.
	commits []string
	help    string
	// options are further kernel arguments of the boot entries.
	options string
	// fail makes the command whose line begins so fail after half of its work.
	fail string
}

// booted makes a node that runs one deployment of stateroot "old".
func booted(t *testing.T) (*fakeOstree, *Deployments) {
	t.Helper()
	return bootedAt(t, t.TempDir())
}

func bootedAt(t *testing.T, root string) (*fakeOstree, *Deployments) {
	t.Helper()
	f := &fakeOstree{t: t, root: root, help: "  deploy\n  set-default   Make deployment at given index the default\n"}
	for _, dir := range []string{"sysroot/ostree/deploy", "boot", "proc", "run/ostree"} {
		require.NoError(t, os.MkdirAll(f.path(dir), 0o755))
	}
	require.NoError(t, os.Symlink("sysroot/ostree", f.path("ostree")))
	f.initStateroot("old")
	f.deployed, f.commits = []host.Deployment{{Stateroot: "old", Checksum: checksum}}, []string{checksum}
	f.checkout(f.deployed[0])
	f.writeMenu()
	f.boot("BOOT_IMAGE=(hd0)/vmlinuz root=LABEL=root rw ostree=" + f.link(0))
	return f, New(Options{Runner: f, Files: files.New(f.root)})
}

func (f *fakeOstree) path(parts ...string) string {
	return filepath.Join(append([]string{f.root}, parts...)...)
}

func (f *fakeOstree) boot(cmdline string) {
	require.NoError(f.t, os.WriteFile(f.path("proc/cmdline"), []byte(cmdline+"\n"), 0o644))
}

func (f *fakeOstree) initStateroot(name string) {
	require.NoError(f.t, os.MkdirAll(f.path("ostree/deploy", name, "var"), 0o755))
}

func (f *fakeOstree) checkout(d host.Deployment) {
	for _, dir := range []string{"etc", "usr"} {
		require.NoError(f.t, os.MkdirAll(f.path(d.InDeployment(dir)), 0o755))
	}
	require.NoError(f.t, os.WriteFile(f.path(d.Origin()), []byte("[origin]\n"), 0o644))
}

// link is the ostree= word of a deployment, with the serial ostree gives among equal kernels.
func (f *fakeOstree) link(index int) string {
	return fmt.Sprintf("/ostree/boot.%d/%s/%s/%d", f.version%2, f.deployed[index].Stateroot, bootChecksum, index)
}

func (f *fakeOstree) writeMenu() {
	require.NoError(f.t, os.RemoveAll(f.path("ostree", fmt.Sprintf("boot.%d", f.version%2))))
	f.version++
	entries := f.path("boot", fmt.Sprintf("loader.%d", f.version%2), "entries")
	require.NoError(f.t, os.RemoveAll(filepath.Dir(entries)))
	require.NoError(f.t, os.MkdirAll(entries, 0o755))
	n := len(f.deployed)
	for i, d := range f.deployed {
		link := f.path(f.link(i))
		require.NoError(f.t, os.MkdirAll(filepath.Dir(link), 0o755))
		require.NoError(f.t, os.Symlink("../../../deploy/"+d.Stateroot+"/deploy/"+d.ID(), link))
		text := fmt.Sprintf("title Debian (ostree:%d)\nversion %d\noptions root=LABEL=root rw ostree=%s %s\nlinux /ostree/x/vmlinuz\n", i, n-i, f.link(i), f.options)
		require.NoError(f.t, os.WriteFile(filepath.Join(entries, fmt.Sprintf("ostree-%d.conf", n-i)), []byte(text), 0o644))
	}
	_ = os.Remove(f.path("boot/loader"))
	require.NoError(f.t, os.Symlink(fmt.Sprintf("loader.%d", f.version%2), f.path("boot/loader")))
}

// Run implements run.Runner.
func (f *fakeOstree) Run(_ context.Context, c run.Command) (run.Result, error) {
	line := strings.Join(c.Argv, " ")
	f.calls = append(f.calls, line)
	if pull, ok := strings.CutPrefix(line, "ostree --repo="); ok {
		return run.Result{}, f.pull(strings.Fields(pull))
	}
	args, ok := strings.CutPrefix(line, "ostree admin ")
	require.True(f.t, ok, "unexpected command %s", line)
	words := strings.Fields(args)
	half := f.fail != "" && strings.HasPrefix(args, f.fail)
	out, err := f.admin(words, half)
	if half && err == nil {
		err = errors.New("injected failure")
	}
	return run.Result{Stdout: []byte(out)}, err
}

// pull is "REPO pull-local --untrusted FROM CHECKSUM".
func (f *fakeOstree) pull(words []string) error {
	require.Equal(f.t, []string{"pull-local", "--untrusted"}, words[1:3])
	if _, err := os.Stat(f.path(words[3], "config")); err != nil {
		return err
	}
	f.commits = append(f.commits, words[4])
	return nil
}

func (f *fakeOstree) admin(words []string, half bool) (string, error) {
	switch words[0] {
	case "--help":
		return f.help, nil
	case "status":
		return f.status(), nil
	case "os-init":
		if half {
			return "", os.MkdirAll(f.path("ostree/deploy", words[1]), 0o755)
		}
		f.initStateroot(words[1])
		return "", nil
	case "deploy":
		return "", f.deploy(words, half)
	case "set-default":
		return "", f.move(words[1], 0, half)
	case "undeploy":
		return "", f.move(words[1], -1, half)
	case "cleanup":
		return "", f.cleanup()
	}
	return "", fmt.Errorf("unknown command %v", words)
}

func (f *fakeOstree) status() string {
	var b strings.Builder
	for i, d := range f.deployed {
		mark, tag := " ", ""
		if d.Stateroot == "old" {
			mark = "*"
		}
		if i == 1 {
			tag = " (rollback)"
		}
		fmt.Fprintf(&b, "%s %s %s%s\n    Version: 1.0\n    origin refspec: node/v1\n", mark, d.Stateroot, d.ID(), tag)
	}
	return b.String()
}

func (f *fakeOstree) deploy(words []string, half bool) error {
	d := host.Deployment{Checksum: words[len(words)-1]}
	for _, w := range words {
		if v, ok := strings.CutPrefix(w, "--os="); ok {
			d.Stateroot = v
		}
	}
	if !slices.Contains(f.commits, d.Checksum) {
		return fmt.Errorf("commit %s not found", d.Checksum)
	}
	f.checkout(d)
	if err := os.MkdirAll(f.path("boot/ostree", d.Stateroot+"-"+bootChecksum), 0o755); err != nil {
		return err
	}
	if !half {
		f.deployed = append(f.deployed, d)
		f.writeMenu()
	}
	return nil
}

// move puts a deployment elsewhere in the order; -1 takes it away.
func (f *fakeOstree) move(index string, to int, half bool) error {
	i, err := strconv.Atoi(index)
	if err != nil || i >= len(f.deployed) {
		return fmt.Errorf("out of range deployment index %s", index)
	}
	if half {
		return nil
	}
	d := f.deployed[i]
	f.deployed = slices.Delete(slices.Clone(f.deployed), i, i+1)
	if to >= 0 {
		f.deployed = slices.Insert(f.deployed, to, d)
	}
	f.writeMenu()
	return nil
}

// cleanup removes what is deployed nowhere. It keeps the kernels of a removed stateroot, as the real one does while
// another deployment has the same.
func (f *fakeOstree) cleanup() error {
	dirs, err := filepath.Glob(f.path("ostree/deploy/*/deploy/*.0"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		used := slices.ContainsFunc(f.deployed, func(d host.Deployment) bool { return f.path(d.Dir()) == dir })
		if !used {
			if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(dir+".origin")); err != nil {
				return err
			}
		}
	}
	return nil
}
