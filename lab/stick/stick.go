// Package stick makes USB sticks and plugs them into a lab node that is a container: a loop device of the host, which the node's
// kernel shows it, with a device file in the node.
//
// Scenarios call it. It imports the lab's machine alone.
package stick

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// Programs are what has to be installed.
func Programs() []string { return []string{"mkfs.vfat", "mcopy", "losetup"} }

// size of a stick; FAT needs no more for a text file.
const size = 4 << 20

// Stick is a stick with a FAT file system.
type Stick struct {
	image  string
	device string // on the host and in the node, while it is plugged in
}

// Make writes a stick with one file into a folder. FAT labels hold 11 characters.
func Make(ctx context.Context, folder, label, file string, content []byte) (*Stick, error) {
	s := &Stick{image: filepath.Join(folder, label+".img")}
	if err := os.RemoveAll(s.image); err != nil {
		return nil, fmt.Errorf("remove the former stick: %w", err)
	}
	source := filepath.Join(folder, file)
	if err := os.WriteFile(source, content, 0o600); err != nil {
		return nil, fmt.Errorf("write the stick's file: %w", err)
	}
	if err := os.WriteFile(s.image, make([]byte, size), 0o600); err != nil {
		return nil, fmt.Errorf("make a stick: %w", err)
	}
	if _, err := run(ctx, "mkfs.vfat", "-n", strings.ToUpper(label), s.image); err != nil {
		return nil, err
	}
	if _, err := run(ctx, "mcopy", "-i", s.image, source, "::"+file); err != nil {
		return nil, err
	}
	return s, nil
}

// Plug plugs the stick into a node that runs. Boot after boot it has to be plugged in again.
func (s *Stick) Plug(ctx context.Context, m machine.Machine) (err error) {
	if s.device == "" {
		if s.device, err = run(ctx, "losetup", "--find", "--show", "--read-only", s.image); err != nil {
			return err
		}
	}
	number := strings.TrimPrefix(s.device, "/dev/loop")
	_, err = machine.Output(ctx, m, "sh", "-c", "test -b "+s.device+" || mknod -m 600 "+s.device+" b 7 "+number)
	if err != nil {
		return fmt.Errorf("plug the stick in: %w", err)
	}
	return nil
}

// Pull pulls the stick; one that is not plugged in is no error.
func (s *Stick) Pull(ctx context.Context) error {
	if s.device == "" {
		return nil
	}
	_, err := run(ctx, "losetup", "--detach", s.device)
	s.device = ""
	return err
}

func run(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}
