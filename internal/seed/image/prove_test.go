package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/archive"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

// treeContent is a tree as an image has it.
func treeContent(content, root, prefix string, sum func(string, [32]byte)) image.Content {
	var size host.ArchiveSize
	return image.Content{Name: content, Mode: 0o600, Write: func(ctx context.Context, to io.Writer) error {
		stats, err := archive.New(archive.Options{Root: root}).Pack(ctx, host.ArchiveRequest{Dir: "/", Prefix: prefix, Sum: sum}, to)
		size = stats.ArchiveSize
		return err
	}, Archive: func() host.ArchiveSize { return size }}
}

// wholeImage publishes an image with all that is required; contents take the place of those of their names.
func wholeImage(t *testing.T, r host.Repository, root string, contents ...image.Content) *image.Image {
	t.Helper()
	sums := &image.SumList{}
	all := map[string]image.Content{
		image.Var: treeContent(image.Var, root, "var", sums.Add), image.Etc: treeContent(image.Etc, root, "etc", sums.Add),
		image.Repo: treeContent(image.Repo, root, ".", nil),
	}
	for _, name := range []string{image.Containers, image.Manifest, image.EtcDeletions, image.RPMOSTree} {
		all[name] = image.Bytes(name, 0o644, []byte("{}"))
	}
	for _, c := range contents {
		all[c.Name] = c
	}
	p := &image.Publisher{Repository: r, Tag: "1"}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		require.NoError(t, p.Add(t.Context(), all[name]))
	}
	for _, l := range p.Layers() {
		sums.AddHex(l.Content, l.File)
	}
	require.NoError(t, p.Add(t.Context(), image.Bytes(image.Sums, 0o644, sums.Text())))
	_, err := p.Finish(t.Context(), "amd64", map[string]string{image.LabelFormat: image.FormatVersion, image.LabelCluster: "{}"})
	require.NoError(t, err)
	i, err := image.Open(t.Context(), r, "1")
	require.NoError(t, err)
	return i
}

// What passes verify is restored: both read an archive, its sizes and its checksums with the same code.
func TestAnImageThatIsVerifiedUnpacks(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"plain", "caf\xe9", "Icon\r", "two\nlines", `dev-disk-by\x2dlabel.device`, "  blanks  ", "\\n", "\\"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(name), 0o600))
	}
	i := wholeImage(t, repository(t), root)
	problems, _, err := i.Prove(t.Context(), archive.New(archive.Options{}))
	require.NoError(t, err)
	require.Empty(t, problems)
	text, err := i.Small(t.Context(), image.Sums)
	require.NoError(t, err)
	want, err := image.ParseSums(text)
	require.NoError(t, err)
	for _, content := range []string{image.Var, image.Etc, image.Repo} {
		l, err := i.Find(content)
		require.NoError(t, err)
		require.Positive(t, l.Archive.Bytes)
		require.Positive(t, l.Archive.Content)
		var wrong []string
		to := t.TempDir()
		require.NoError(t, i.Read(t.Context(), content, func(r io.Reader) error {
			reading := host.ArchiveReading{Size: l.Archive}
			if content != image.Repo {
				reading.Sum = image.CompareSums(want, &wrong)
			}
			return archive.New(archive.Options{Root: to}).Unpack(t.Context(), "/", r, reading)
		}))
		require.Empty(t, wrong)
	}
}

// gzipped is an archive of one entry.
func gzipped(t *testing.T, h tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	require.NoError(t, w.WriteHeader(&h))
	require.NoError(t, w.Close())
	require.NoError(t, zip.Close())
	return out.Bytes()
}

func TestAnImageThatCannotBeUnpackedIsFoundByVerify(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(root+"/f", []byte("x"), 0o600))
	outside := gzipped(t, tar.Header{Name: "../f", Typeflag: tar.TypeReg})
	unlisted := gzipped(t, tar.Header{Name: "etc/other", Typeflag: tar.TypeReg})
	declared := func(n int64) image.Content {
		c := image.Bytes(image.Var, 0o600, gzipped(t, tar.Header{Name: "var/", Typeflag: tar.TypeDir}))
		c.Archive = func() host.ArchiveSize { return host.ArchiveSize{Bytes: n} }
		return c
	}
	for name, c := range map[string]struct {
		content image.Content
		says    string
	}{
		"a name leads out":     {image.Bytes(image.Repo, 0o600, outside), "leads out of the folder"},
		"no archive":           {image.Bytes(image.Etc, 0o600, []byte("text")), "read the compressed archive"},
		"a file of no sum":     {image.Bytes(image.Etc, 0o600, unlisted), `1 files of etc.tgz are not as seed-sha256sums says, the first is "etc/other"`},
		"longer than declared": {declared(512), "longer than the 512 bytes"},
		"shorter":              {declared(1 << 30), "shorter than the"},
	} {
		t.Run(name, func(t *testing.T) {
			problems, _, err := wholeImage(t, repository(t), root, c.content).Prove(t.Context(), archive.New(archive.Options{}))
			require.NoError(t, err)
			require.Len(t, problems, 1)
			require.Contains(t, problems[0], c.says)
		})
	}
}

// changed is a registry whose manifests differ from those that were published.
type changed struct {
	host.Repository
	change func(string) string
}

func (c changed) Manifest(ctx context.Context, tag string) (host.Manifest, error) {
	m, err := c.Repository.Manifest(ctx, tag)
	m.Data = []byte(c.change(string(m.Data)))
	return m, err
}

func TestSizesThatCannotBeAreRefused(t *testing.T) {
	r := repository(t)
	publish(t, r, "1", image.Bytes(image.Manifest, 0o644, bytes.Repeat([]byte("x"), 1000)))
	m, err := r.Manifest(t.Context(), "1")
	require.NoError(t, err)
	var doc struct {
		Config struct{ Size int64 }
		Layers []struct{ Size int64 }
	}
	require.NoError(t, json.Unmarshal(m.Data, &doc))
	size := func(n int64) string { return fmt.Sprintf(`"size":%d`, n) }
	for name, c := range map[string]struct{ from, to, says string }{
		"layer, negative": {size(doc.Layers[0].Size), size(-1), "that is no size"},
		"layer, endless":  {size(doc.Layers[0].Size), size(1 << 62), "that is no size"},
		"layer, small":    {size(doc.Layers[0].Size), size(1000), "not what was published"},
		"layer, large":    {size(doc.Layers[0].Size), size(1 << 20), "not what was published"},
		"layer, too much": {size(doc.Layers[0].Size), size(1 << 30), "of which at most"},
		"configuration":   {size(doc.Config.Size), size(1 << 30), "of which at most"},
		"archive":         {`"annotations":{`, `"annotations":{"com.openshift.lifecycle-agent.seed_archive_size":"-1",`, "which is no size"},
	} {
		t.Run(name, func(t *testing.T) {
			i, err := image.Open(t.Context(), changed{r, func(s string) string { return strings.Replace(s, c.from, c.to, 1) }}, "1")
			if err == nil {
				_, err = i.Small(t.Context(), image.Manifest)
			}
			require.ErrorContains(t, err, c.says)
		})
	}
}
