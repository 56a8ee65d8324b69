package create

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

// repoDir is the node's ostree repository. It is not part of the copy: nothing of a commit ever changes.
const repoDir = "/ostree/repo"

// publish builds the layers, sends those that the registry lacks, and then the image.
func (g *generation) publish(ctx context.Context) error {
	repo, err := g.open(ctx)
	if err != nil {
		return err
	}
	p := &image.Publisher{Repository: repo, Tag: seed.Tag(g.request.SeedImage)}
	last := g.announced() // an earlier run may have written the tag that this one reads
	p.Announce = func(digest string) error {
		return g.announce(digest, p.TagUnread || last.TagUnread && last.Operation == g.request.OperationID)
	}
	if o, err := seed.ReadOutcome(g.Files); err == nil && repository(o.Image) == repository(g.request.SeedImage) {
		p.Known = []string{o.Digest}
	}
	sums := &image.SumList{}
	list, err := g.listContents(sums)
	if err != nil {
		return err
	}
	for _, c := range list {
		if err := p.Add(ctx, c); err != nil {
			return g.hopeless(err)
		}
	}
	for _, l := range p.Layers() {
		sums.AddHex(l.Content, l.File)
	}
	if err := p.Add(ctx, image.Bytes(image.Sums, 0o644, sums.Text())); err != nil {
		return g.hopeless(err)
	}
	labels, err := g.labels()
	if err != nil {
		return err
	}
	done, err := p.Finish(ctx, runtime.GOARCH, labels)
	if err != nil {
		return g.hopeless(err)
	}
	signed, err := g.sign(ctx, repo, done.Digest)
	if err != nil {
		return g.hopeless(err)
	}
	return g.record(done, signed)
}

// listContents lists the contents in a fixed order, what rarely changes first.
func (g *generation) listContents(sums *image.SumList) ([]image.Content, error) {
	diff, err := compareEtc(g.Files, path.Join(g.system(), "etc"), g.booted.InDeployment("/usr/etc"))
	if err != nil {
		return nil, err
	}
	owned, err := g.owned()
	if err != nil {
		return nil, err
	}
	if diff.Changed == nil {
		diff.Changed = []string{}
	}
	out := []image.Content{
		g.tree(image.Repo, host.ArchiveRequest{Dir: repoDir, Prefix: ".", Skip: []string{".lock"}, Empty: []string{"tmp"}}),
		g.tree(image.Var, host.ArchiveRequest{
			Dir: path.Join(g.system(), "var"), Prefix: "var", Skip: leftOut, Empty: emptied,
			Keep: owned, SkipNames: leftNames, Sum: sums.Add,
		}),
		g.tree(image.Etc, host.ArchiveRequest{Dir: path.Join(g.system(), "etc"), Prefix: "etc", Only: diff.Changed, Sum: sums.Add}),
		image.Bytes(image.EtcDeletions, 0o644, deletions(diff.Deleted)),
	}
	names, err := g.Files.List(g.contents())
	if err != nil {
		return nil, fmt.Errorf("list what was collected: %w", err)
	}
	for _, name := range names {
		data, err := g.Files.Read(path.Join(g.contents(), name))
		if err != nil {
			return nil, fmt.Errorf("read what was collected: %w", err)
		}
		mode := int64(0o644)
		if name == image.CLI {
			mode = 0o755
		}
		out = append(out, image.Bytes(name, mode, data))
	}
	return out, nil
}

func (g *generation) tree(name string, r host.ArchiveRequest) image.Content {
	var size host.ArchiveSize
	return image.Content{Name: name, Mode: 0o600, Write: func(ctx context.Context, to io.Writer) error {
		stats, err := g.Archives.Pack(ctx, r, to)
		size = stats.ArchiveSize
		return err
	}, Archive: func() host.ArchiveSize { return size }}
}

// deletions is etc.deletions: one absolute path on each line.
func deletions(deleted []string) []byte {
	var b bytes.Buffer
	for _, rel := range deleted {
		b.WriteString("/etc/" + rel + "\n")
	}
	return b.Bytes()
}

// labels describe the image without its layers.
func (g *generation) labels() (map[string]string, error) {
	labels := map[string]string{image.LabelFormat: image.FormatVersion}
	for label, content := range map[string]string{image.LabelCluster: image.Manifest, image.LabelNode: image.Node} {
		data, err := g.Files.Read(path.Join(g.contents(), content))
		if err != nil {
			return nil, fmt.Errorf("read what was collected: %w", err)
		}
		labels[label] = string(data)
	}
	return labels, nil
}

// record stores the outcome, for the agent and for the next generation.
func (g *generation) record(done image.Published, signed bool) error {
	var mark capturedMark
	if err := operation.ReadJSON(g.Files, g.mark(), &mark); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	o := seed.Outcome{
		OperationID: g.request.OperationID, Image: g.request.SeedImage, Digest: done.Digest, Size: done.Size, Sent: done.Sent,
		Signed: signed, TagUnread: g.announced().TagUnread, CopyReflinked: mark.Reflinked, Published: g.Clock.Now().UTC(),
		Downtime: seed.Duration(operation.Span(g.Files, seed.StepQuiesce, seed.StepStart).Seconds()),
	}
	for _, l := range done.Layers {
		o.Layers = append(o.Layers, seed.Layer{Content: l.Content, Digest: l.Digest, Size: l.Size, Reused: l.Reused})
	}
	return operation.WriteJSON(g.Files, seed.OutcomeFile, o)
}

func repository(pullSpec string) string {
	if at := strings.LastIndexByte(pullSpec, ':'); at > strings.LastIndexByte(pullSpec, '/') {
		return pullSpec[:at]
	}
	return pullSpec
}
