package machine

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

//go:embed power-on.sh
var powerOnScript []byte

//go:embed init.sh
var initScript []byte

// exitReboot is nspawn's exit code when the container asked for a reboot.
const exitReboot = 133

// Supervise is the container's firmware: it boots the default entry again and again, for as long as the node reboots, and
// returns nil when the node has powered off. It is an error when the container dies in another way, a power cut among them.
// When ctx ends, it cuts the power. It must run in a process of its own session.
func (c Container) Supervise(ctx context.Context, log *slog.Logger) error {
	lock, err := holdLock(c.lock())
	if err != nil {
		return fmt.Errorf("another supervisor runs this machine: %w", err)
	}
	defer lock.Close()
	run := filepath.Join(c.Dir, "run")
	if err := os.MkdirAll(run, 0o755); err != nil {
		return err
	}
	for name, content := range map[string][]byte{"power-on.sh": powerOnScript, "init.sh": initScript} {
		if err := os.WriteFile(filepath.Join(run, name), content, 0o755); err != nil {
			return err
		}
	}
	for boot := 1; ; boot++ {
		code, err := c.boot(ctx, run, log.With("boot", boot))
		if err != nil {
			return err
		}
		switch code {
		case exitReboot:
			continue
		case 0:
			return nil
		}
		return fmt.Errorf("the machine ended with exit code %d", code)
	}
}

// boot runs the machine from power-on to its end and returns nspawn's exit code.
func (c Container) boot(ctx context.Context, run string, log *slog.Logger) (int, error) {
	entries, err := ReadEntries(filepath.Join(c.Sysroot(), "boot"))
	if err != nil {
		return 0, err
	}
	entry, err := Default(entries)
	if err != nil {
		return 0, err
	}
	deployment, err := deploymentOf(c.Sysroot(), entry.Options)
	if err != nil {
		return 0, err
	}
	cmdline := fmt.Sprintf("BOOT_IMAGE=(hd0)%s %s\n", entry.Linux, entry.Options)
	if err := os.WriteFile(filepath.Join(run, "cmdline"), []byte(cmdline), 0o644); err != nil {
		return 0, err
	}
	if err := c.Net.PlugContainer(ctx); err != nil {
		return 0, err
	}
	log.Info("boot", "entry", entry.File, "stateroot", Stateroot(entry.Options), "deployment", filepath.Base(deployment))
	console, err := os.OpenFile(c.ConsoleLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	defer console.Close()
	fmt.Fprintf(console, "\n--- power on: %s\n", entry.File)
	args := []string{"--mount", "--propagation", "private", filepath.Join(run, "power-on.sh"),
		c.Sysroot(), deployment, c.Name, c.Net.Node(), run}
	code, err := c.runNspawn(ctx, console, append(args, strings.Fields(entry.Options)...))
	log.Info("machine ended", "code", code)
	return code, err
}

// runNspawn keeps nspawn's process id in a file while it runs: unshare, the script and nspawn are one process by exec.
func (c Container) runNspawn(ctx context.Context, console *os.File, args []string) (int, error) {
	cmd := exec.CommandContext(ctx, "unshare", args...)
	cmd.Stdout, cmd.Stderr = console, console
	cmd.Cancel = func() error {
		if pid := initOf(cmd.Process.Pid); pid > 0 {
			return syscall.Kill(pid, syscall.SIGKILL)
		}
		return cmd.Process.Kill()
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if err := os.WriteFile(c.nspawnPID(), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644); err != nil {
		return 0, errors.Join(err, cmd.Process.Kill())
	}
	defer os.Remove(c.nspawnPID())
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}
