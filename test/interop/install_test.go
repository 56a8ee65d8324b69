//go:build interop

package interop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/archive"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/trees"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/create"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

const (
	// installer is the name of their program below INTEROP_BIN, seedVersion what the image says that it holds.
	installer   = "openshift-kni-lca-cli"
	seedVersion = "4.20.3"
	seedSpec    = "registry.example.com/seeds/sno:" + seedVersion
)

// TestLifecycleAgentInstallsOurSeedImage has the program of lifecycle-agent install a node from a seed image of ours: it imports and
// deploys the system with ostree, unpacks /var and /etc, and removes what the seed has deleted. Each file is compared with the seed's.
// What it does not need is replaced: the disk is a tmpfs, the image is mounted already.
func TestLifecycleAgentInstallsOurSeedImage(t *testing.T) {
	theirs := program(t, installer)
	if os.Geteuid() != 0 {
		t.Skip("reason: a mount namespace of its own needs root")
	}
	s := newSeedSystem(t, ostreeOf(t))
	mounted := s.published(t)
	installed := s.install(t, theirs, mounted)

	text, err := os.ReadFile(filepath.Join(mounted, image.Sums))
	require.NoError(t, err)
	sums, err := image.ParseSums(text)
	require.NoError(t, err)
	compared := 0
	for name, want := range sums {
		at := filepath.Join(installed, name)
		if strings.HasPrefix(name, "etc/") {
			at = filepath.Join(installed, "deployment", name)
		} else if !strings.HasPrefix(name, "var/") {
			continue
		}
		data, err := os.ReadFile(at)
		require.NoError(t, err)
		have := sha256.Sum256(data)
		require.Equal(t, want, hex.EncodeToString(have[:]), name)
		compared++
	}
	require.GreaterOrEqual(t, compared, 4)
	t.Logf("%d files are those of the seed", compared)
	link, err := os.Readlink(filepath.Join(installed, "var/lib/app/link"))
	require.NoError(t, err)
	require.Equal(t, "data", link)
	etc := filepath.Join(installed, "deployment", "etc")
	for _, gone := range []string{"gone", "half/gone", "single"} {
		_, err := os.Lstat(filepath.Join(etc, gone))
		require.ErrorIs(t, err, fs.ErrNotExist, gone)
	}
	for file, want := range map[string]string{"half/kept": "the system's", "untouched": "the system's", "changed": "the seed's"} {
		data, err := os.ReadFile(filepath.Join(etc, file))
		require.NoError(t, err)
		require.Equal(t, want, string(data), file)
	}
}

// ostreeOf finds ostree on the machine, or below INTEROP_BIN.
func ostreeOf(t *testing.T) string {
	t.Helper()
	if at, err := exec.LookPath("ostree"); err == nil {
		return at
	}
	return program(t, "ostree")
}

// seedSystem is a node below a folder, with a system that ostree has deployed.
type seedSystem struct {
	root, ostree, tree string
	booted             host.Deployment
}

func newSeedSystem(t *testing.T, ostree string) *seedSystem {
	t.Helper()
	s := &seedSystem{root: removable(t), ostree: ostree, tree: t.TempDir()}
	for file, text := range map[string]string{
		"usr/lib/modules/6.1.0/vmlinuz": "kernel", "usr/lib/modules/6.1.0/initramfs.img": "initramfs", "usr/lib/os-release": "ID=rhcos\n",
		"usr/etc/gone/a": "the system's", "usr/etc/gone/below/b": "the system's", "usr/etc/half/gone/c": "the system's",
		"usr/etc/half/kept": "the system's", "usr/etc/single": "the system's", "usr/etc/untouched": "the system's", "usr/etc/changed": "the system's",
	} {
		put(t, filepath.Join(s.tree, file), text)
	}
	s.run(t, ostree, "admin", "init-fs", s.root)
	s.run(t, ostree, "admin", "--sysroot="+s.root, "os-init", "rhcos")
	s.run(t, ostree, "--repo="+s.root+"/ostree/repo", "commit", "--branch=seed", "--tree=dir="+s.tree)
	s.run(t, ostree, "admin", "--sysroot="+s.root, "deploy", "--os=rhcos", "seed")
	sum := strings.TrimSpace(s.run(t, ostree, "--repo="+s.root+"/ostree/repo", "rev-parse", "seed"))
	s.booted = host.Deployment{Stateroot: "rhcos", Checksum: sum, Booted: true, Default: true}
	config := `{"spec":{"kernelArguments":["quiet"],"config":{"ignition":{"version":"3.4.0"}}}}`
	for file, text := range map[string]string{
		"etc/half/kept": "the system's", "etc/untouched": "the system's", "etc/changed": "the seed's", "etc/own/new.conf": "the seed's",
		"sys/devices/system/cpu/cpu0/topology/core_id": "0", host.MachineConfig: config, host.CLIInVar: "program", "proc/1/mountinfo": "",
		host.InVar("rhcos", "/var/lib/app/data"): "data of the seed", host.InVar("rhcos", "/var/home/core/.profile"): "profile",
	} {
		put(t, filepath.Join(s.root, file), text)
	}
	require.NoError(t, os.Symlink("data", filepath.Join(s.root, host.InVar("rhcos", "/var/lib/app/link"))))
	return s
}

// removable is a folder that is removed though ostree makes its deployments immutable.
func removable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() { _ = exec.Command("chattr", "-R", "-f", "-i", dir).Run() })
	return dir
}

func (s *seedSystem) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
	return string(out)
}

func put(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

// List implements the part of host.Deployments that a generation asks for.
func (s *seedSystem) List(context.Context) ([]host.Deployment, error) {
	return []host.Deployment{s.booted}, nil
}

// published makes the image and returns a folder with its files, as podman mounts them.
func (s *seedSystem) published(t *testing.T) string {
	t.Helper()
	registries := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"}).Registries(hosttest.NewRegistry())
	ports := create.Ports{
		Node:     host.Node{Files: files.New(s.root), Trees: trees.New(trees.Options{Root: s.root}), Deployments: listing{s: s}},
		Archives: archive.New(archive.Options{Root: s.root}), Registries: registries, Reports: noReports{}, Clock: flow.SystemClock{},
		Log: slog.New(slog.DiscardHandler),
	}
	request := seed.Request{OperationID: "20260101-000000-0001", SeedImage: seedSpec, Cluster: seed.ClusterInfo{OCPVersion: seedVersion}}
	for _, step := range create.Plan(ports, request, s.booted).Steps {
		switch step.Name {
		case seed.StepCollect, seed.StepCapture, seed.StepPublish:
			require.NoError(t, step.Do(t.Context()), step.Name)
		}
	}
	repo, err := registries.Open(t.Context(), host.RegistryAccess{Image: seedSpec})
	require.NoError(t, err)
	i, err := image.Open(t.Context(), repo, seedVersion)
	require.NoError(t, err)
	to := t.TempDir()
	for _, l := range i.Layers {
		require.NoError(t, i.Read(t.Context(), l.Content, func(r io.Reader) error {
			data, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, l.Content), data, 0o644)
		}))
	}
	return to
}

// listing is a host.Deployments that lists.
type listing struct {
	host.Deployments
	s *seedSystem
}

func (l listing) List(ctx context.Context) ([]host.Deployment, error) { return l.s.List(ctx) }

// noReports is a node without a container runtime and rpm-ostree.
type noReports struct{}

func (noReports) Images(context.Context) ([]host.ContainerImage, error) { return nil, nil }
func (noReports) RPMOSTree(context.Context) ([]byte, error)             { return nil, fs.ErrNotExist }

// install runs their program in a mount namespace of its own, and returns a copy of the stateroot that it made. The folder
// "deployment" in it is that of its system.
func (s *seedSystem) install(t *testing.T, theirs, mounted string) string {
	t.Helper()
	bin, out := t.TempDir(), filepath.Join(removable(t), "stateroot")
	for name, script := range map[string]string{
		"podman": fmt.Sprintf(`case "$*" in "image mount "?*) echo %s ;; esac`, mounted),
		"coreos-installer": fmt.Sprintf("ostree admin init-fs /mnt && ostree admin --sysroot=/mnt os-init rhcos &&\n"+
			"ostree --repo=/mnt/ostree/repo commit --branch=shipped --tree=dir=%s && ostree admin --sysroot=/mnt deploy --os=rhcos shipped", s.tree),
		"chattr": "", "chcon": "", "restorecon": "", "shutdown": "exit 1", "ostree": fmt.Sprintf(`exec %s "$@"`, s.ostree),
	} {
		file := filepath.Join(bin, name)
		put(t, file, "#!/bin/bash\nset -e\n"+script+"\n")
		require.NoError(t, os.Chmod(file, 0o755))
	}
	config, err := json.Marshal(map[string]any{"seedImage": seedSpec, "seedVersion": seedVersion, "installationDisk": "/dev/disk/by-id/none",
		"useContainersFolder": true, "precacheDisabled": true, "skipDiskCleanup": true})
	require.NoError(t, err)
	put(t, filepath.Join(bin, "config.json"), string(config))
	script := fmt.Sprintf(`set -e
for dir in /mnt /var/tmp /var/lib; do mount -t tmpfs none $dir; done
mkdir -p /var/lib/containers
cd /
PATH=%[1]s:$PATH %[2]s ibi -f %[1]s/config.json
cp -a /mnt/ostree/deploy/rhcos_%[3]s %[4]s
mv %[4]s/deploy/*.0 %[4]s/deployment`, bin, theirs, seedVersion, out)
	command := exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation", "private", "bash", "-c", script)
	text, err := command.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return out
}
