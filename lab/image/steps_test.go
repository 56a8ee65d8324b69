package image

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func names(path []step) []Artefact {
	var result []Artefact
	for _, s := range path {
		result = append(result, s.name)
	}
	return result
}

func TestNeeded(t *testing.T) {
	require.Equal(t, []Artefact{networkManager, RootFS, commit, Sysroot}, names(needed(Sysroot)))
	require.Equal(t, []Artefact{networkManager, RootFS, commit, Disk}, names(needed(Disk)))
	require.Equal(t, []Artefact{RootFS}, names(needed(RootFS)))
	require.Empty(t, needed("cathedral"))
}

func TestEveryStepHasItsScriptAndItsInputsBeforeIt(t *testing.T) {
	done := map[Artefact]bool{}
	for _, s := range steps() {
		for _, file := range append([]string{"recipe/" + string(s.name) + ".sh"}, s.files...) {
			found, err := list(file)
			require.NoError(t, err)
			require.NotEmpty(t, found, file)
		}
		for variable, input := range s.inputs {
			require.True(t, done[input], "%s needs %s (%s) before it", s.name, input, variable)
		}
		done[s.name] = true
	}
}

func TestKeysFollowInputs(t *testing.T) {
	before, err := keys(needed(Sysroot))
	require.NoError(t, err)
	again, err := keys(needed(Sysroot))
	require.NoError(t, err)
	require.Equal(t, before, again, "the same recipe has the same keys")

	sysroot := needed(Sysroot)[3]
	changed := map[Artefact]string{RootFS: before[RootFS], commit: "another"}
	key, err := sysroot.key(changed)
	require.NoError(t, err)
	require.NotEqual(t, before[Sysroot], key, "what is built on something else is something else")
}

func TestBuildUsesTheCache(t *testing.T) {
	cache := t.TempDir()
	key, err := keys(needed(Disk))
	require.NoError(t, err)
	want := filepath.Join(cache, "disk-"+key[Disk])
	require.NoError(t, os.Mkdir(want, 0o755))

	builder := Builder{Cache: cache, Say: func(text string) { t.Errorf("nothing should be built, but: %s", text) }}
	var got string
	require.NoError(t, builder.With(context.Background(), Disk, func(dir string) error { got = dir; return nil }))
	require.Equal(t, want, got)
}

func TestBuildRefusesTheUnknown(t *testing.T) {
	err := Builder{Cache: t.TempDir()}.With(context.Background(), "cathedral", nil)
	require.ErrorContains(t, err, `unknown artefact "cathedral"`)
}

func TestOnlyTheNewestOldResultStays(t *testing.T) {
	cache := t.TempDir()
	now := time.Now()
	for i, name := range []string{"commit-aaaaaaaaaaaa", "commit-bbbbbbbbbbbb", "commit-cccccccccccc", "sysroot-aaaaaaaaaaaa"} {
		dir := filepath.Join(cache, name)
		require.NoError(t, os.Mkdir(dir, 0o755))
		require.NoError(t, os.Chtimes(dir, now, now.Add(time.Duration(i)*time.Minute)))
	}
	Builder{Cache: cache}.removeOthers(commit)
	left, err := os.ReadDir(cache)
	require.NoError(t, err)
	var names []string
	for _, entry := range left {
		names = append(names, entry.Name())
	}
	require.Equal(t, []string{"commit-cccccccccccc", "sysroot-aaaaaaaaaaaa"}, names)
}

func TestExtract(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, extract(dir))
	require.FileExists(t, filepath.Join(dir, "overlay/usr/libexec/node/configure-ovs"))
	info, err := os.Stat(filepath.Join(dir, "recipe/rootfs.sh"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&0o100, "a step's script can be run")
}

func TestRemoveTreeOfNothing(t *testing.T) {
	require.NoError(t, RemoveTree(filepath.Join(t.TempDir(), "nothing")))
}
