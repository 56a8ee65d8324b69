package restore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

// unpackVar starts anew each time: what an interrupted run left there is not whole.
func (m *restoration) unpackVar(ctx context.Context) error {
	if err := m.dropVar(ctx); err != nil {
		return err
	}
	i, err := m.openImage(ctx)
	if err != nil {
		return err
	}
	if err := m.unpackTree(ctx, i, image.Var, host.StaterootDir(m.request.New)); err != nil {
		return err
	}
	return m.removeSeedState()
}

// removeSeedState removes what an image may have of the agent's own state: journals, records and requests of the seed's node would
// be obeyed.
func (m *restoration) removeSeedState() error {
	dir := host.InVar(m.request.New, host.StateDir)
	if err := m.Files.Remove(dir); err != nil {
		return fmt.Errorf("remove %s, which is of the seed: %w", dir, err)
	}
	return nil
}

// dropVar removes the state before anything else of the stateroot is undone: on a disk that it has filled, ostree cannot
// even write the boot menu.
func (m *restoration) dropVar(context.Context) error {
	dir := host.InVar(m.request.New, "/var")
	if err := m.Files.Remove(dir); err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return nil
}

// unpackEtc lays the seed's configuration over that of its system, and leaves this machine what is its own.
func (m *restoration) unpackEtc(ctx context.Context) error {
	old, target, err := m.request.staterootPair().Deployments(ctx, m.Deployments)
	if err != nil {
		return err
	}
	i, err := m.openImage(ctx)
	if err != nil {
		return err
	}
	if err := m.unpackTree(ctx, i, image.Etc, target.Dir()); err != nil {
		return err
	}
	deletions, err := i.Small(ctx, image.EtcDeletions)
	if err != nil {
		return err
	}
	if err := m.removeDeleted(target, deletions); err != nil {
		return err
	}
	if err := m.writeOrigin(ctx, i, target); err != nil {
		return err
	}
	return m.keepOwn(ctx, old, target)
}

// writeOrigin gives the deployment the seed's origin file, by which rpm-ostree and the machine-config daemon know the system.
func (m *restoration) writeOrigin(ctx context.Context, i *image.Image, target host.Deployment) error {
	at := slices.IndexFunc(i.Layers, func(l image.Layer) bool { return image.IsOrigin(l.Content) })
	if at < 0 {
		return nil
	}
	data, err := i.Small(ctx, i.Layers[at].Content)
	if err != nil {
		return err
	}
	if err := m.Files.Write(target.Origin(), data, 0o644); err != nil {
		return fmt.Errorf("write the new deployment's origin: %w", err)
	}
	return nil
}

// unpackTree brings a tree of the image below dir, and proves each file by the image's list of checksums.
func (m *restoration) unpackTree(ctx context.Context, i *image.Image, content, dir string) error {
	text, err := i.Small(ctx, image.Sums)
	if err != nil {
		return err
	}
	want, err := image.ParseSums(text)
	if err != nil {
		return flow.Permanent(err)
	}
	var wrong []string
	l, err := i.Find(content)
	if err != nil {
		return flow.Permanent(err)
	}
	reading := host.ArchiveReading{Size: l.Archive, Sum: image.CompareSums(want, &wrong)}
	err = i.Read(ctx, content, func(r io.Reader) error { return m.Archives.Unpack(ctx, dir, r, reading) })
	switch {
	case err != nil:
		return m.explainFullDisk(host.DeployDir, fmt.Errorf("unpack %s into %s: %w", content, dir, markPermanent(err)))
	case len(wrong) > 0:
		return flow.Permanent(errors.New(image.Differing(content, wrong)))
	}
	return nil
}

// removeDeleted deletes what the seed's administrator deleted of the system's /etc.
func (m *restoration) removeDeleted(target host.Deployment, list []byte) error {
	for line := range bytes.Lines(list) {
		name := strings.TrimSuffix(string(line), "\n")
		if name == "" {
			continue
		}
		if path.Clean(name) != name || !strings.HasPrefix(name, "/etc/") {
			return flow.Permanent(fmt.Errorf("%s of the image has %q, which is not below /etc", image.EtcDeletions, name))
		}
		if err := m.Files.Remove(target.InDeployment(name)); err != nil {
			return fmt.Errorf("remove %s from the new deployment: %w", name, err)
		}
	}
	return nil
}

// ownFiles are of the machine, not of the cluster: identities by which disks, storage and leases know it.
var ownFiles = []string{
	"/etc/machine-id", "/etc/crypttab", "/etc/iscsi/initiatorname.iscsi", "/etc/nvme/hostid", "/etc/nvme/hostnqn",
	"/etc/lvm/devices/system.devices",
}

const (
	sshDir    = "/etc/ssh"
	hostKey   = "ssh_host_"
	plainMode = fs.FileMode(0o777)
)

// keepOwn gives the new deployment this machine's own files, SSH host keys and network: it boots with the network that runs
// now, and changes it only where the site's answers.
func (m *restoration) keepOwn(ctx context.Context, old, target host.Deployment) error {
	files := append([]string{}, ownFiles...)
	for _, d := range []host.Deployment{old, target} {
		names, err := m.Files.List(d.InDeployment(sshDir))
		if err != nil {
			return fmt.Errorf("list the SSH host keys: %w", err)
		}
		for _, name := range names {
			if strings.HasPrefix(name, hostKey) {
				files = append(files, path.Join(sshDir, name))
			}
		}
	}
	for _, file := range files {
		if err := m.keepFile(file, old, target); err != nil {
			return err
		}
	}
	connections := old.InDeployment(host.NMConnections)
	if _, err := m.Files.Stat(connections); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := m.Trees.Mirror(ctx, host.CopyRequest{From: connections, To: target.InDeployment(host.NMConnections)})
	if err != nil {
		return fmt.Errorf("copy the node's own network: %w", err)
	}
	return nil
}

// keepFile makes a file what it is here, or absent.
func (m *restoration) keepFile(file string, old, target host.Deployment) error {
	to := target.InDeployment(file)
	info, err := m.Files.Stat(old.InDeployment(file))
	if errors.Is(err, fs.ErrNotExist) {
		if err := m.Files.Remove(to); err != nil {
			return fmt.Errorf("remove the seed's %s: %w", file, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	data, err := m.Files.Read(old.InDeployment(file))
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if err := m.Files.Write(to, data, info.Mode()&plainMode); err != nil {
		return fmt.Errorf("keep %s: %w", file, err)
	}
	return nil
}

// explainFullDisk names file system and bytes where it was a full disk that ended the restore; no retry mends that.
func (m *restoration) explainFullDisk(dir string, err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	room, ferr := m.Trees.Free(host.DeployDir)
	if ferr != nil {
		return flow.Permanent(fmt.Errorf("the file system of %s is full: %w", dir, err))
	}
	return flow.Permanent(fmt.Errorf("the file system of %s is full, with %d bytes free; all that was unpacked is removed: free more, "+
		"then ask again: %w", dir, room.Bytes, err))
}
