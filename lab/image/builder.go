package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Builder makes artefacts below one cache directory. Several processes may use one cache: the second waits for the first.
type Builder struct {
	// Cache is the directory of the results, one sub-directory per step and key.
	Cache string
	// Say, when set, is told each step that really runs before it does.
	Say func(text string)
}

// With builds whatever is missing on the way to the artefact and calls use with its directory, which stays for as long as use
// runs and must not be changed.
func (b Builder) With(ctx context.Context, want Artefact, use func(dir string) error) error {
	path := needed(want)
	if len(path) == 0 {
		return fmt.Errorf("build image: unknown artefact %q", want)
	}
	key, err := keys(path)
	if err != nil {
		return err
	}
	lock, err := b.openLock()
	if err != nil {
		return err
	}
	defer lock.Close()
	// Shared with all who only read; whoever finds something missing waits until it is alone, and looks again.
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH); err != nil {
		return fmt.Errorf("lock image cache: %w", err)
	}
	for !exists(b.dir(want, key)) {
		if err := b.buildAll(ctx, lock, path, key); err != nil {
			return err
		}
	}
	return use(b.dir(want, key))
}

// buildAll holds the lock alone while it builds, and shares it again afterwards.
func (b Builder) buildAll(ctx context.Context, lock *os.File, path []step, key map[Artefact]string) error {
	if os.Geteuid() != 0 {
		return errors.New("build image: needs root (it makes device nodes, mounts and file owners)")
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock image cache: %w", err)
	}
	for _, s := range path {
		if err := b.step(ctx, s, key); err != nil {
			return err
		}
	}
	return unix.Flock(int(lock.Fd()), unix.LOCK_SH)
}

// step builds one artefact unless it is there: in a temporary directory, renamed when whole.
func (b Builder) step(ctx context.Context, s step, key map[Artefact]string) error {
	final := b.dir(s.name, key)
	if exists(final) {
		return nil
	}
	if b.Say != nil {
		b.Say(s.says)
	}
	recipe, err := os.MkdirTemp(b.Cache, "recipe-")
	if err != nil {
		return fmt.Errorf("build image: %w", err)
	}
	defer os.RemoveAll(recipe)
	if err := extract(recipe); err != nil {
		return fmt.Errorf("unpack recipe: %w", err)
	}
	b.removeOthers(s.name)
	partial := filepath.Join(b.Cache, "partial-"+string(s.name))
	if err := RemoveTree(partial); err != nil {
		return fmt.Errorf("remove left-over %s: %w", partial, err)
	}
	if err := b.run(ctx, s, key, recipe, partial); err != nil {
		return err
	}
	if err := os.Chtimes(partial, time.Time{}, time.Now()); err != nil { // its age, for removeOthers
		return err
	}
	return os.Rename(partial, final)
}

// run executes the step's script, its output in <cache>/<step>.log.
func (b Builder) run(ctx context.Context, s step, key map[Artefact]string, recipe, out string) error {
	logPath := filepath.Join(b.Cache, string(s.name)+".log")
	log, err := os.Create(logPath)
	if err != nil {
		return fmt.Errorf("build image: %w", err)
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, filepath.Join(recipe, "recipe", string(s.name)+".sh"), out)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "OVERLAY="+filepath.Join(recipe, "overlay"))
	for variable, input := range s.inputs {
		cmd.Env = append(cmd.Env, variable+"="+b.dir(input, key))
	}
	cmd.Stdout, cmd.Stderr = log, log
	// Interrupted: let the script's trap unmount what it mounted.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build image step %s: %w; last lines of %s:\n%s", s.name, err, logPath, tail(logPath, 15))
	}
	return nil
}

// removeOthers deletes all but the newest result of the step: they can be made again, and each takes half a gigabyte. The
// newest stays, because two people (or two branches) take turns.
func (b Builder) removeOthers(name Artefact) {
	old, _ := filepath.Glob(filepath.Join(b.Cache, string(name)+"-"+strings.Repeat("?", keyLength)))
	slices.SortFunc(old, func(x, y string) int { return made(y).Compare(made(x)) })
	for _, dir := range old[min(1, len(old)):] {
		_ = RemoveTree(dir)
	}
}

// made is when a directory was put in place; the zero time when it is gone.
func made(dir string) time.Time {
	info, err := os.Stat(dir)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (b Builder) dir(name Artefact, key map[Artefact]string) string {
	return filepath.Join(b.Cache, string(name)+"-"+key[name])
}

// openLock opens the file whose lock guards the cache; closing it gives the lock up.
func (b Builder) openLock() (*os.File, error) {
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		return nil, fmt.Errorf("make cache directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(b.Cache, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock image cache: %w", err)
	}
	return file, nil
}

func exists(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

// tail returns the last n lines of a file, or why it cannot be read.
func tail(path string, n int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
