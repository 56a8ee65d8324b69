package restore_test

import (
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
)

func TestAllThatIsMissingIsRefusedAtOnce(t *testing.T) {
	w := newWorld(t, false)
	w.node.SetDefaultUnsupported(errors.New("ostree has no set-default"))
	ask := w.ask()
	ask.Site = []byte("apiVersion: relocation.lca.openshift.io/v1\nkind: SiteConfig\nhostnme: typo\n")
	err := w.refused(ask)
	for _, says := range []string{"clusterName", "baseDomain", "hostname", "network", "sshKeys", "pullSecret", "did you mean hostname", "set-default"} {
		require.ErrorContains(t, err, says)
	}
}

func TestAnImageThatDoesNotFitIsRefusedBeforeItIsRead(t *testing.T) {
	for name, k := range map[string]misfit{
		"architecture":      {arch: "s390x", says: "architecture: the seed has s390x, this node has " + runtime.GOARCH},
		"a newer format":    {format: "5", says: `is "5"`},
		"FIPS":              {node: seed.NodeFacts{FIPS: true}, says: "FIPS: the seed has on, this node has off"},
		"container storage": {storage: "/dev/disk/by-label/x", says: "container storage: the seed has /dev/disk/by-label/x, this node has " + hosttest.ContainerStorage},
		"its contents":      {says: "no layer for " + image.Var},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			w.registry = hosttest.NewRegistry()
			k.publish(t, w)
			blobs := 0
			w.registry.Fail = func(request string) error {
				if request == "get blob" {
					blobs++
				}
				return nil
			}
			require.ErrorContains(t, w.refused(w.ask()), k.says)
			require.Equal(t, 1, blobs, "of the image its description alone is read")
		})
	}
}

func TestProcessorsThatDifferAreRefusedUnlessAPersonAllowsThem(t *testing.T) {
	w := newWorld(t, false)
	rows := restore.Compare(&image.Image{Node: seed.NodeFacts{CPUs: 64, Reserved: "0-3"}},
		restore.Target{Node: seed.NodeFacts{CPUs: 32, Reserved: "0-1"}})
	var blocking []string
	for _, r := range rows {
		if r.Blocks {
			blocking = append(blocking, r.What)
			require.Contains(t, r.Problem(), "--allow-other-cpus")
		}
	}
	require.Equal(t, []string{restore.RowCPUs, restore.RowReserved}, blocking)
	ask := w.ask()
	ask.OtherHardware = true
	_, err := restore.Begin(t.Context(), w.ports(), ask)
	require.NoError(t, err)
}

func TestAnotherVersionIsShownAndDoesNotBlock(t *testing.T) {
	rows := restore.Compare(&image.Image{Cluster: seed.ClusterInfo{OCPVersion: "4.20.3"}}, restore.Target{Version: "4.19.1"})
	at := slices.IndexFunc(rows, func(r restore.Row) bool { return r.What == restore.RowVersion })
	require.True(t, rows[at].Differs())
	require.False(t, rows[at].Blocks)
}

func TestContainerStorageIsComparedByNamesThatLast(t *testing.T) {
	wanted := &image.Image{Cluster: seed.ClusterInfo{ContainerStorageTarget: "/dev/disk/by-partlabel/varlibcontainers"}}
	for name, k := range map[string]struct {
		have   seed.ContainerStorage
		blocks bool
	}{
		"the same":             {seed.ContainerStorage{Source: "/dev/disk/by-partlabel/varlibcontainers"}, false},
		"the kernel's name":    {seed.ContainerStorage{Source: "/dev/sda5"}, false},
		"another label":        {seed.ContainerStorage{Source: "/dev/disk/by-partlabel/other"}, true},
		"none":                 {seed.ContainerStorage{}, true},
		"inside the stateroot": {seed.ContainerStorage{Source: "/dev/sda4", Own: true}, true},
	} {
		rows := restore.Compare(wanted, restore.Target{Storage: k.have})
		at := slices.IndexFunc(rows, func(r restore.Row) bool { return r.What == restore.RowStorage })
		require.Equal(t, k.blocks, rows[at].Blocks, name)
	}
}

func TestAFullDiskIsNamedAndEverythingIsRemoved(t *testing.T) {
	w := newWorld(t, false)
	w.node.FailWhen(func(op hosttest.Op, _ int) error {
		if op.Name == "archives.unpack" && strings.HasPrefix(op.Target, host.StaterootDir(relocation.StaterootPrefix)) {
			return &fs.PathError{Op: "write", Path: op.Target, Err: syscall.ENOSPC}
		}
		return nil
	})
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "old", verdict)
	require.NotEmpty(t, w.node.Failures())
	failure := errors.Join(w.node.Failures()...)
	require.ErrorContains(t, failure, "the file system of /ostree/deploy is full, with ")
	require.ErrorContains(t, failure, "bytes free")
	require.Len(t, w.node.Describe().Stateroots, 1, "the half-made stateroot is removed")
	w.node.Disarm()
	require.NoError(t, w.Again())
}

func TestADiskThatIsTooSmallIsRefusedWithBytes(t *testing.T) {
	w := newWorld(t, false)
	w.node.SetFree(16 << 10)
	require.NoError(t, w.Live(nil))
	require.ErrorContains(t, errors.Join(w.node.Failures()...), "and the file system of /ostree/deploy has ")
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "old", verdict)
}

func TestASecondRestoreIsRefusedUntilTheFirstIsOver(t *testing.T) {
	w := newWorld(t, false)
	w.stopAt(seed.StepUnpackVar)
	require.ErrorContains(t, w.refused(w.ask()), "is under way")
	require.NoError(t, w.abort())
	require.NoError(t, w.do(w.restore))
	require.ErrorContains(t, w.refused(w.ask()), "'lca-cli seed commit'")
}

func TestARestoreUnderWayHoldsTheNodeAlsoOverAPowerCut(t *testing.T) {
	w := newWorld(t, false)
	w.stopAt(seed.StepUnpackVar)
	held := func() bool {
		_, found, err := restore.Kind(restore.Ports{}).Reservation(w.node.Ports()).Unfinished(t.Context())
		require.NoError(t, err)
		return found
	}
	require.True(t, held())
	require.NoError(t, w.abort())
	require.False(t, held())
}

func TestTheRequestIsForRootAlone(t *testing.T) {
	w := newWorld(t, false)
	w.stopAt(seed.StepUnpackVar)
	for _, file := range []string{seed.RestoreFile, seed.RestoreSiteFile, seed.RestoreAuthFile} {
		info, err := w.node.Files().Stat(file)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), file)
	}
	info, err := w.node.Files().Stat(seed.RestoreDir)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	request, err := w.node.Files().Read(seed.RestoreFile)
	require.NoError(t, err)
	require.NotContains(t, string(request), plantedPull)
	require.NotContains(t, string(request), plantedRegistry)
}
