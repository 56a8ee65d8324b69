package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/lab/image"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// readyWithin bounds the boot of a node, by machine kind; emulation is more than ten times slower.
var readyWithin = map[machine.Kind]time.Duration{machine.Nspawn: 3 * time.Minute, machine.QEMU: 20 * time.Minute}

// Step is told before each step of Up: its number, how many there are, and what is going to be done.
type Step func(n, of int, text string)

// Up makes the lab, or powers an existing one on, and returns once the node is ready. An existing lab of another kind is an
// error, for its disk would be lost.
func Up(ctx context.Context, tools Tools, name string, kind machine.Kind, provision Provision, say Step) (*Lab, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("lab up needs root: it makes network namespaces, mounts and a container (try sudo)")
	}
	if kind == machine.Nspawn {
		if err := raiseInotifyLimit(inotifyLimit); err != nil {
			return nil, err
		}
	}
	unlock, err := making(tools, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	l, err := Open(tools, name)
	fresh := errors.Is(err, ErrNone)
	if err != nil && !fresh {
		return nil, err
	}
	if fresh {
		if tools.Bond && kind != machine.QEMU {
			return nil, fmt.Errorf("a machine of kind %s cannot have a bond: its kernel is this machine's", kind)
		}
		dir, err := directory(tools, name)
		if err != nil {
			return nil, err
		}
		if l, err = assemble(tools, name, dir, record{Kind: kind, Cards: tools.cards()}); err != nil {
			return nil, err
		}
	}
	if l.Kind != kind {
		return nil, fmt.Errorf("lab %s exists with machine %s; take it down first, or use another --name", name, l.Kind)
	}
	return l, l.up(ctx, tools, fresh, provision, say)
}

// making keeps a second Up of the same name out until the returned function is called.
func making(tools Tools, name string) (unlock func(), err error) {
	if _, err := directory(tools, name); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(tools.Root, 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of all labs: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(tools.Root, "."+name+".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock lab %s: %w", name, err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("another lab up is at work on lab %s: %w", name, err)
	}
	return func() { lock.Close() }, nil
}

func (l *Lab) up(ctx context.Context, tools Tools, fresh bool, provision Provision, say Step) error {
	type step struct {
		says string
		do   func(context.Context) error
	}
	steps := []step{
		{"wire the network", l.Net.Up},
		{"power on", l.Machine.Start},
		{"wait until the node is ready", l.whole},
	}
	if fresh {
		steps[2].do = l.wellUp
		steps = append([]step{
			{"build the node's image (cached when nothing changed)", func(ctx context.Context) error { return l.copyImage(ctx, say) }},
			{"write the site's configuration and the control plane to the node's disk", func(ctx context.Context) error {
				if err := l.provision(ctx, tools, provision); err != nil {
					return err
				}
				return l.save()
			}},
		}, steps...)
	}
	for i, s := range steps {
		say(i+1, len(steps), s.says)
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Image makes the disk that new nodes of a kind get a copy of, unless the cache has it: minutes, once. say is told of each
// part that has to be made.
func Image(ctx context.Context, tools Tools, kind machine.Kind, say func(text string)) error {
	artefact, _, err := disk(kind)
	if err != nil {
		return err
	}
	root, err := filepath.Abs(tools.Root) // the recipes change directory
	if err != nil {
		return err
	}
	return imageBuilder(root, say).With(ctx, artefact, func(string) error { return nil })
}

func imageBuilder(root string, say func(string)) image.Builder {
	return image.Builder{Cache: filepath.Join(root, "cache", "image"), Say: say}
}

// disk says which artefact a kind of machine boots, and which file of it ("" for the whole directory).
func disk(kind machine.Kind) (artefact image.Artefact, part string, err error) {
	switch kind {
	case machine.Nspawn:
		return image.Sysroot, "", nil
	case machine.QEMU:
		return image.Disk, "disk.img", nil
	}
	return "", "", fmt.Errorf("unknown machine kind %q, want %s or %s", kind, machine.Nspawn, machine.QEMU)
}

// copyImage gives this lab a disk of its own, copied from the image cache. It is "sysroot" or "disk.img" in the lab's directory.
func (l *Lab) copyImage(ctx context.Context, say Step) error {
	artefact, part, err := disk(l.Kind)
	if err != nil {
		return err
	}
	builder := imageBuilder(filepath.Dir(l.Dir), func(text string) { say(0, 0, text) })
	if err := image.RemoveTree(l.Dir); err != nil {
		return fmt.Errorf("remove a half-made lab: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(l.Dir, "run"), 0o755); err != nil {
		return fmt.Errorf("make the lab's directory: %w", err)
	}
	return builder.With(ctx, artefact, func(built string) error {
		source, target := filepath.Join(built, part), filepath.Join(l.Dir, cmp.Or(part, "sysroot"))
		out, err := exec.CommandContext(ctx, "cp", "-a", "--reflink=auto", "--sparse=auto", source, target).CombinedOutput()
		if err != nil {
			return fmt.Errorf("copy the image: %w: %s", err, out)
		}
		return nil
	})
}

// whole is Ready and Serving: what nobody needs to wait for any more.
func (l *Lab) whole(ctx context.Context) error {
	if err := l.Ready(ctx); err != nil {
		return err
	}
	return l.Serving(ctx)
}

// wellUp is whole for a node that nobody has done anything to yet: none of its units may have failed.
func (l *Lab) wellUp(ctx context.Context) error {
	if err := l.whole(ctx); err != nil {
		return err
	}
	failed, err := machine.Output(ctx, l.Machine, "systemctl", "list-units", "--failed", "--plain", "--no-legend")
	if err != nil {
		return err
	}
	if failed != "" {
		return fmt.Errorf("the node runs, but units have failed (lab exec -- journalctl -u UNIT):\n%s", failed)
	}
	return nil
}

// Ready waits until the node's operating system has finished its boot, and tells what it waits for if it does not.
func (l *Lab) Ready(ctx context.Context) error {
	limit := readyWithin[l.Kind]
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	state := "nothing answers yet"
	for {
		on, err := l.Machine.State(ctx)
		if err != nil {
			return err
		}
		if !on.On {
			return fmt.Errorf("the machine went off while booting, see %s", l.Machine.ConsoleLog())
		}
		result, err := l.Machine.Exec(ctx, machine.Command{Argv: []string{"systemctl", "is-system-running"}})
		if err == nil {
			state = firstLine(result.Stdout + result.Stderr)
			if state == "running" || state == "degraded" {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the node is not ready after %s (%s), see %s", limit, state, l.Machine.ConsoleLog())
		case <-time.After(200 * time.Millisecond):
		}
	}
}
