package restore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// openImage opens the image by the digest that was judged.
func (m *restoration) openImage(ctx context.Context) (*image.Image, error) {
	repo, err := openRepository(ctx, m.Ports, m.request.Image, seed.RestoreAuthFile, m.request.CABundle)
	if err != nil {
		return nil, err
	}
	i, err := image.Open(ctx, repo, m.request.Digest)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", m.request.Image, markPermanent(err))
	}
	return i, nil
}

// expansion is what unpacked trees take at least, as a multiple of their compressed size.
const expansion = 2

// unpackedSize is how much room a tree takes at least: what is declared of it, which is enforced while it is read. An image of
// an earlier version declares nothing.
func unpackedSize(l image.Layer) int64 { return max(l.Archive.Bytes, l.Size*expansion) }

// checkImageAndRoom refuses what cannot succeed while nothing is touched. A disk that fills up later ends the restore with everything
// removed.
func (m *restoration) checkImageAndRoom(ctx context.Context) error {
	i, err := m.openImage(ctx)
	if err != nil {
		return err
	}
	trees := []string{image.Var, image.Etc}
	if _, there, err := m.findCommit(ctx, i); err != nil {
		return err
	} else if !there {
		trees = append(trees, image.Repo)
	}
	var need int64
	for _, l := range i.Layers {
		if slices.Contains(trees, l.Content) {
			need += unpackedSize(l)
		}
	}
	room, err := m.Trees.Free(host.DeployDir)
	if err != nil {
		return fmt.Errorf("measure the free space below %s: %w", host.DeployDir, err)
	}
	if err := checkFits("the image", host.DeployDir, need, room.Bytes); err != nil {
		return err
	}
	kernel, free, err := stateroot.Room{Files: m.Files, Disk: m.Trees}.BootSpaceFor(ctx, m.request.staterootPair())
	if err != nil {
		return err
	}
	return checkFits("its kernel with initramfs", "/boot", kernel, free)
}

func checkFits(what, where string, need, free int64) error {
	if need <= free {
		return nil
	}
	return flow.Permanent(fmt.Errorf("%s needs at least %d bytes and the file system of %s has %d bytes free: free %d MiB, then ask again",
		what, need, where, free, (need-free)>>20+1))
}

// deploySystem brings the image's commit into the node's repository, unless a deployment has it, and deploys it.
func (m *restoration) deploySystem(ctx context.Context) error {
	i, err := m.openImage(ctx)
	if err != nil {
		return err
	}
	commit, there, err := m.findCommit(ctx, i)
	if err != nil {
		return err
	}
	if !there {
		if err := m.importCommit(ctx, i, commit); err != nil {
			return err
		}
	}
	arguments, err := m.kernelArguments(ctx, i)
	if err != nil {
		return err
	}
	if _, err := m.Commits.DeployCommit(ctx, m.request.New, commit, arguments); err != nil {
		return m.explainFullDisk(host.DeployDir, fmt.Errorf("deploy the image's system: %w", err))
	}
	return m.dropRepo()
}

// findCommit is that of the image, and whether the node has it: one of its deployments is of it.
func (m *restoration) findCommit(ctx context.Context, i *image.Image) (checksum string, there bool, err error) {
	if checksum, err = commitOf(ctx, i); err != nil {
		return "", false, err
	}
	all, err := m.Deployments.List(ctx)
	if err != nil {
		return "", false, fmt.Errorf("list deployments: %w", err)
	}
	return checksum, slices.ContainsFunc(all, func(d host.Deployment) bool { return d.Checksum == checksum }), nil
}

// importCommit unpacks the image's repository anew, and imports the commit.
func (m *restoration) importCommit(ctx context.Context, i *image.Image, commit string) error {
	if err := m.dropRepo(); err != nil {
		return err
	}
	l, err := i.Find(image.Repo)
	if err != nil {
		return flow.Permanent(err)
	}
	err = i.Read(ctx, image.Repo, func(r io.Reader) error {
		return m.Archives.Unpack(ctx, seed.RestoreRepo, r, host.ArchiveReading{Size: l.Archive})
	})
	if err != nil {
		return m.explainFullDisk(seed.RestoreRepo, fmt.Errorf("unpack %s: %w", image.Repo, markPermanent(err)))
	}
	// ostree opens no repository without this folder, which is in no image.
	if err := m.Files.Write(path.Join(seed.RestoreRepo, "tmp/lca"), nil, 0o600); err != nil {
		return fmt.Errorf("complete the unpacked repository: %w", err)
	}
	if err := m.Commits.Import(ctx, seed.RestoreRepo, commit); err != nil {
		return m.explainFullDisk("/ostree/repo", fmt.Errorf("import the image's system: %w", err))
	}
	return nil
}

func (m *restoration) dropRepo() error {
	if err := m.Files.Remove(seed.RestoreRepo); err != nil {
		return fmt.Errorf("remove the unpacked repository: %w", err)
	}
	return nil
}

// removeStateroot removes the stateroot; ostree then drops what it alone used.
func (m *restoration) removeStateroot(ctx context.Context) error {
	if err := m.dropRepo(); err != nil {
		return err
	}
	if err := m.Deployments.Remove(ctx, m.request.New); err != nil {
		return fmt.Errorf("remove stateroot %s: %w", m.request.New, err)
	}
	return nil
}

// commitOf is the commit that the seed ran.
func commitOf(ctx context.Context, i *image.Image) (string, error) {
	data, err := i.Small(ctx, image.RPMOSTree)
	if err != nil {
		return "", err
	}
	var status struct {
		Deployments []struct {
			Checksum string `json:"checksum"`
			Booted   bool   `json:"booted"`
		} `json:"deployments"`
	}
	if err := json.Unmarshal(data, &status); err != nil {
		return "", flow.Permanent(fmt.Errorf("decode %s: %w", image.RPMOSTree, err))
	}
	for _, d := range status.Deployments {
		if d.Booted && d.Checksum != "" {
			return d.Checksum, nil
		}
	}
	return "", flow.Permanent(fmt.Errorf("%s of the image names no booted deployment", image.RPMOSTree))
}

// kernelArguments are those of this machine, with those of its MachineConfig replaced by the seed's.
func (m *restoration) kernelArguments(ctx context.Context, i *image.Image) ([]string, error) {
	have, err := m.Deployments.KernelArguments(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the kernel arguments: %w", err)
	}
	own, err := m.Files.Read(host.MachineConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", host.MachineConfig, err)
	}
	theirs := []byte(nil)
	if _, err := i.Find(image.MachineConfig); err == nil {
		if theirs, err = i.Small(ctx, image.MachineConfig); err != nil {
			return nil, err
		}
	}
	remove, err := configuredArguments(own)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", host.MachineConfig, err)
	}
	add, err := configuredArguments(theirs)
	if err != nil {
		return nil, flow.Permanent(fmt.Errorf("decode %s of the image: %w", image.MachineConfig, err))
	}
	return replaceArguments(have, remove, add), nil
}

// configuredArguments are the kernel arguments of a MachineConfig.
func configuredArguments(config []byte) ([]string, error) {
	var doc struct {
		Spec struct {
			KernelArguments []string `json:"kernelArguments"`
		} `json:"spec"`
	}
	if len(config) == 0 {
		return nil, nil
	}
	err := json.Unmarshal(config, &doc)
	return doc.Spec.KernelArguments, err
}

// replaceArguments removes each of the arguments once, and adds the others unless they are there.
func replaceArguments(have, remove, add []string) []string {
	out := slices.Clone(have)
	for _, argument := range remove {
		if at := slices.Index(out, argument); at >= 0 {
			out = slices.Delete(out, at, at+1)
		}
	}
	for _, argument := range add {
		if !slices.Contains(out, argument) {
			out = append(out, argument)
		}
	}
	return out
}
