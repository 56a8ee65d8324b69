package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// Emulated is the QEMU machine: an emulated PC (no hardware virtualisation is asked for, so it runs anywhere) that boots
// Dir/disk.img through its BIOS. Programs in it are run by the QEMU guest agent.
type Emulated struct {
	Name string
	Dir  string // run-time files: disk.img, console.log, sockets
	Net  network.Network
	// Cards is how many network cards it has besides the uplink.
	Cards int
}

// One virtual processor: with several, QEMU 7.2 now and then panics a guest that patches its own code at boot. panic=5 on
// the node's command line turns such a panic into a reboot.
const (
	processors = 1
	megabytes  = 3072
)

// ConsoleLog implements Machine.
func (e Emulated) ConsoleLog() string { return filepath.Join(e.Dir, "console.log") }

// Start implements Machine.
func (e Emulated) Start(ctx context.Context) error {
	if e.pid() > 0 {
		return nil
	}
	tap, err := e.Net.PlugTap(ctx)
	if err != nil {
		return err
	}
	cards, err := e.cards(ctx)
	if err != nil {
		return err
	}
	args := []string{
		"netns", "exec", e.Net.LAN(), "qemu-system-x86_64", "-name", e.Name, "-nodefaults", "-no-user-config", "-display", "none",
		"-machine", "q35", "-accel", "tcg", "-cpu", "max", "-smp", strconv.Itoa(processors), "-m", strconv.Itoa(megabytes),
		// A power cut is a kill of this process; what the guest has written is in the host's page cache by then.
		"-drive", "file=" + e.disk() + ",format=raw,if=virtio,cache=unsafe",
		// vnet_hdr=off: frames leave the guest whole, with their checksums, for network.Tagged to pass on.
		"-netdev", "tap,id=net0,ifname=" + tap + ",script=no,downscript=no,vnet_hdr=off",
		"-device", "virtio-net-pci,netdev=net0,mac=" + network.UplinkMAC + ",romfile=",
		"-device", "virtio-rng-pci", "-device", "i6300esb", "-action", "watchdog=reset",
		"-chardev", "socket,id=console,path=" + e.ConsoleSocket() + ",server=on,wait=off,logfile=" + e.ConsoleLog() + ",logappend=on",
		"-serial", "chardev:console",
		"-chardev", "socket,id=agent,path=" + e.agentSocket() + ",server=on,wait=off", "-device", "virtio-serial",
		"-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0",
		"-monitor", "none", "-qmp", "unix:" + e.monitorSocket() + ",server=on,wait=off", "-pidfile", e.pidFile(), "-daemonize",
	}
	out, err := exec.CommandContext(ctx, "ip", append(args, cards...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("power on: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// cards plugs the extra network cards in, and names them to QEMU.
func (e Emulated) cards(ctx context.Context) (args []string, err error) {
	for number := 1; number <= e.Cards; number++ {
		tap, err := e.Net.PlugCard(ctx, number)
		if err != nil {
			return nil, fmt.Errorf("plug in card %d: %w", number, err)
		}
		args = append(args, "-netdev", fmt.Sprintf("tap,id=card%d,ifname=%s,script=no,downscript=no,vnet_hdr=off", number, tap),
			"-device", fmt.Sprintf("virtio-net-pci,netdev=card%d,mac=%s,romfile=", number, network.CardMAC(number)))
	}
	return args, nil
}

// Stop implements Machine.
func (e Emulated) Stop(ctx context.Context) error {
	for e.pid() > 0 {
		_, err := e.Exec(ctx, Command{Argv: []string{"systemctl", "poweroff", "--no-block"}})
		if err != nil && !errors.Is(err, ErrOff) {
			return err
		}
		// Asked again only when the agent was not there yet: a machine that is still booting cannot hear the first request.
		if err == nil {
			return e.waitOff(ctx)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return nil
}

// PowerCut implements Machine.
func (e Emulated) PowerCut(ctx context.Context) error {
	pid := e.pid()
	if pid == 0 {
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("power cut: %w", err)
	}
	return e.waitOff(ctx)
}

func (e Emulated) waitOff(ctx context.Context) error {
	for e.pid() > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until the machine is off: %w", ctx.Err())
		case <-time.After(pollEvery):
		}
	}
	return nil
}

// Exec implements Machine.
func (e Emulated) Exec(ctx context.Context, command Command) (Result, error) {
	if e.pid() == 0 {
		return Result{}, ErrOff
	}
	return agent{socket: e.agentSocket()}.exec(ctx, command)
}

// State implements Machine.
func (e Emulated) State(ctx context.Context) (State, error) {
	if e.pid() == 0 {
		return State{}, nil
	}
	return stateFrom(ctx, e), nil
}

// Cable pulls the cable of a network card (0 is the uplink, the extra ones are numbered from 1), or plugs it in: the card
// itself notices. At the next power-on all are plugged in.
func (e Emulated) Cable(ctx context.Context, card int, plugged bool) error {
	name := "net0"
	if card > 0 {
		name = fmt.Sprintf("card%d", card)
	}
	return monitor{socket: e.monitorSocket()}.do(ctx, "set_link", map[string]any{"name": name, "up": plugged})
}

// ConsoleSocket is a unix socket that is the other end of the machine's serial console.
func (e Emulated) ConsoleSocket() string { return filepath.Join(e.Dir, "console.sock") }

// pid is the running QEMU process of this machine, 0 when there is none. A recycled id is told by its command line.
func (e Emulated) pid() int {
	pid := readPID(e.pidFile())
	if pid == 0 {
		return 0
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.Contains(string(cmdline), e.disk()) {
		return 0
	}
	return pid
}

func (e Emulated) disk() string          { return filepath.Join(e.Dir, "disk.img") }
func (e Emulated) pidFile() string       { return filepath.Join(e.Dir, "qemu.pid") }
func (e Emulated) agentSocket() string   { return filepath.Join(e.Dir, "agent.sock") }
func (e Emulated) monitorSocket() string { return filepath.Join(e.Dir, "monitor.sock") }
