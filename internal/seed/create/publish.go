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

// publishImage builds the layers, sends those that the registry lacks, and then the image.
func (g *generation) publishImage(ctx context.Context) error {
	repo, err := g.openRepository(ctx)
	if err != nil {
		return err
	}
	p := &image.Publisher{Repository: repo, Tag: seed.Tag(g.request.SeedImage)}
	last := g.lastAnnouncement() // an earlier run may have written the tag that this one reads
	p.Announce = func(digest string) error {
		return g.writeAnnouncement(digest, p.TagUnread || last.TagUnread && last.Operation == g.request.OperationID)
	}
	if o, err := seed.ReadOutcome(g.Files); err == nil && repositoryOf(o.Image) == repositoryOf(g.request.SeedImage) {
		p.Known = []string{o.Digest}
	}
	sums := &image.SumList{}
	list, err := g.listContents(sums)
	if err != nil {
		return err
	}
	for _, c := range list {
		if err := p.Add(ctx, c); err != nil {
			return g.explainError(err)
		}
	}
	for _, l := range p.Layers() {
		sums.AddHex(l.Content, l.File)
	}
	if err := p.Add(ctx, image.Bytes(image.Sums, 0o644, sums.Text())); err != nil {
		return g.explainError(err)
	}
	labels, err := g.buildLabels()
	if err != nil {
		return err
	}
	done, err := p.Finish(ctx, runtime.GOARCH, labels)
	if err != nil {
		return g.explainError(err)
	}
	signed, err := g.signImage(ctx, repo, done.Digest)
	if err != nil {
		return g.explainError(err)
	}
	return g.recordOutcome(done, signed)
}

// listContents lists the contents in a fixed order, what rarely changes first.
func (g *generation) listContents(sums *image.SumList) ([]image.Content, error) {
	diff, err := compareEtc(g.Files, path.Join(g.systemDir(), "etc"), g.booted.InDeployment("/usr/etc"))
	if err != nil {
		return nil, err
	}
	owned, err := g.ownedFiles()
	if err != nil {
		return nil, err
	}
	if diff.Changed == nil {
		diff.Changed = []string{}
	}
	out := []image.Content{
		g.treeContent(image.Repo, host.ArchiveRequest{Dir: repoDir, Prefix: ".", Skip: []string{".lock"}, Empty: []string{"tmp"}}),
		g.treeContent(image.Var, host.ArchiveRequest{
			Dir: path.Join(g.systemDir(), "var"), Prefix: "var", Skip: leftOut, Empty: emptied,
			Keep: owned, SkipNames: leftNames, Sum: sums.Add,
		}),
		g.treeContent(image.Etc, host.ArchiveRequest{Dir: path.Join(g.systemDir(), "etc"), Prefix: "etc", Only: diff.Changed,
			Sum: sums.Add}),
		image.Bytes(image.EtcDeletions, 0o644, encodeDeletions(diff.Deleted)),
	}
	names, err := g.Files.List(g.contentsDir())
	if err != nil {
		return nil, fmt.Errorf("list what was collected: %w", err)
	}
	for _, name := range names {
		data, err := g.Files.Read(path.Join(g.contentsDir(), name))
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

func (g *generation) treeContent(name string, r host.ArchiveRequest) image.Content {
	var size host.ArchiveSize
	return image.Content{Name: name, Mode: 0o600, Write: func(ctx context.Context, to io.Writer) error {
		stats, err := g.Archives.Pack(ctx, r, to)
		size = stats.ArchiveSize
		return err
	}, Archive: func() host.ArchiveSize { return size }}
}

// encodeDeletions is etc.deletions: one absolute path on each line.
func encodeDeletions(deleted []string) []byte {
	var b bytes.Buffer
	for _, rel := range deleted {
		b.WriteString("/etc/" + rel + "\n")
	}
	return b.Bytes()
}

// buildLabels describe the image without its layers.
func (g *generation) buildLabels() (map[string]string, error) {
	labels := map[string]string{image.LabelFormat: image.FormatVersion}
	for label, content := range map[string]string{image.LabelCluster: image.Manifest, image.LabelNode: image.Node} {
		data, err := g.Files.Read(path.Join(g.contentsDir(), content))
		if err != nil {
			return nil, fmt.Errorf("read what was collected: %w", err)
		}
		labels[label] = string(data)
	}
	return labels, nil
}

// recordOutcome stores the outcome, for the agent and for the next generation.
func (g *generation) recordOutcome(done image.Published, signed bool) error {
	var mark capturedMark
	if err := operation.ReadJSON(g.Files, g.markFile(), &mark); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	o := seed.Outcome{
		OperationID: g.request.OperationID, Image: g.request.SeedImage, Digest: done.Digest, Size: done.Size, Sent: done.Sent,
		Signed: signed, TagUnread: g.lastAnnouncement().TagUnread, CopyReflinked: mark.Reflinked, Published: g.Clock.Now().UTC(),
		Downtime: seed.Duration(operation.Span(g.Files, seed.StepQuiesce, seed.StepStart).Seconds()),
	}
	for _, l := range done.Layers {
		o.Layers = append(o.Layers, seed.Layer{Content: l.Content, Digest: l.Digest, Size: l.Size, Reused: l.Reused})
	}
	return operation.WriteJSON(g.Files, seed.OutcomeFile, o)
}

func repositoryOf(pullSpec string) string {
	if at := strings.LastIndexByte(pullSpec, ':'); at > strings.LastIndexByte(pullSpec, '/') {
		return pullSpec[:at]
	}
	return pullSpec
}
