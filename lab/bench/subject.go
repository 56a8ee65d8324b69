package bench

import (
	"bytes"
	"context"
	_ "embed" // the scripts that run in the node
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// The node's addresses at the two sites.
var (
	oldAddress = netip.MustParseAddr("192.0.2.10")
	newAddress = netip.MustParseAddr("198.51.100.20")
)

// newNetwork is the machine network of the second site.
const newNetwork = "198.51.100.0/24"

// look is how often the node is looked at while it reboots.
const look = 100 * time.Millisecond

// rebootWithin bounds a bare reboot on the slower machine.
const rebootWithin = 10 * time.Minute

// operatorMetrics is where the operator counts what it did (its usual --metrics-bind-address).
const operatorMetrics = "127.0.0.1:29443"

//go:embed fill.sh
var fillScript []byte

//go:embed looked.sh
var lookedScript []byte

// subject is one node under measurement.
type subject struct {
	lab       *lab.Lab
	driver    *drive.Driver
	say       func(string)
	stateroot string // that the node was delivered with
}

func newSubject(ctx context.Context, l *lab.Lab, say func(string)) (*subject, error) {
	state, err := l.Machine.State(ctx)
	if err != nil {
		return nil, err
	}
	driver, err := drive.New(l, nil, oldAddress, newAddress)
	if err != nil {
		return nil, err
	}
	s := &subject{lab: l, driver: driver, say: say, stateroot: state.Stateroot}
	return s, s.idle(ctx)
}

func (s *subject) idle(ctx context.Context) error {
	_, err := s.driver.Until(ctx, "condition Idle", drive.Is(lcav1.ConditionIdle))
	return err
}

// script runs a script in the node.
func (s *subject) script(ctx context.Context, script []byte, args ...string) error {
	return s.run(ctx, append([]string{"bash", "-s", "--"}, args...), script)
}

func (s *subject) run(ctx context.Context, argv []string, input []byte) error {
	result, err := s.lab.Machine.Exec(ctx, machine.Command{Argv: argv, Stdin: bytes.NewReader(input)})
	if err != nil {
		return err
	}
	if result.ExitCode != 0 {
		return fmt.Errorf("in the node: %s: exit code %d: %s", strings.Join(argv, " "), result.ExitCode, strings.TrimSpace(result.Stderr))
	}
	return nil
}

func (s *subject) output(ctx context.Context, argv ...string) (string, error) {
	return machine.Output(ctx, s.lab.Machine, argv...)
}

const (
	megabyte = 1 << 20
	// folder is what fill.sh puts into one folder of small files.
	folder = 32 * megabyte
)

// fill writes half of the data as one big file and half as small ones.
func (s *subject) fill(ctx context.Context, n *Node) error {
	if n.SizeGB > 0 {
		s.say("writing the data")
		big, folders := shares(n.SizeGB)
		if err := s.script(ctx, fillScript, strconv.Itoa(big), strconv.Itoa(folders)); err != nil {
			return err
		}
	}
	return s.count(ctx, n)
}

// shares splits a size in GB into the MiB of the big file and the number of folders of small ones.
func shares(gb float64) (big, folders int) {
	folders = int(math.Round(gb * 1e9 / 2 / folder))
	return int(math.Round((gb*1e9 - float64(folders*folder)) / megabyte)), folders
}

// count says what there is to copy.
func (s *subject) count(ctx context.Context, n *Node) error {
	text, err := s.output(ctx, "bash", "-c", "find /var -xdev -type f -printf '%s\\n' | awk '{b += $1} END {print NR, b}'; stat -f -c %T /var")
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(strings.ReplaceAll(text, "\n", " "), "%d %d %s", &n.Files, &n.Bytes, &n.FileSystem); err != nil {
		return fmt.Errorf("count the files in /var: %w in %q", err, text)
	}
	return nil
}

// weigh reads the operator's resident memory (proc_pid_status(5)).
func (s *subject) weigh(ctx context.Context, n *Node) error {
	text, err := s.output(ctx, "bash", "-c", `grep VmRSS: /proc/"$(systemctl show --value -p MainPID lifecycle-agent)"/status`)
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(text, "VmRSS: %d kB", &n.OperatorRSS); err != nil {
		return fmt.Errorf("read the operator's memory: %w in %q", err, text)
	}
	return nil
}

// bareReboot is the yardstick: the same node, rebooted, and nothing else.
func (s *subject) bareReboot(ctx context.Context, n *Node) error {
	s.say("a bare reboot")
	before, err := s.lab.Machine.State(ctx)
	if err != nil {
		return err
	}
	outage, err := s.outage(ctx, func(ctx context.Context) error {
		// The answer may get lost when the node is quick to go down.
		_, _ = s.lab.Machine.Exec(ctx, machine.Command{Argv: []string{"systemctl", "reboot", "--no-block"}})
		if err := s.answersAfter(ctx, before.BootID); err != nil {
			return err
		}
		return s.settle(ctx)
	})
	n.BareReboot = outage
	if err != nil {
		return fmt.Errorf("bare reboot: %w", err)
	}
	return nil
}

// answersAfter waits until the API answers in another boot than the one given. A container that
// goes down shows the host's boot for a moment, and its API server may still answer; systemd then says that it stops.
func (s *subject) answersAfter(ctx context.Context, boot string) error {
	ctx, cancel := context.WithTimeout(ctx, rebootWithin)
	defer cancel()
	for {
		state, err := s.lab.Machine.State(ctx)
		if err == nil && state.BootID != "" && state.BootID != boot && s.runs(ctx) && drive.Look(ctx, s.lab, oldAddress).API {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API does not answer after a reboot: %w", ctx.Err())
		case <-time.After(look):
		}
	}
}

// runs says whether systemd is past the start of the boot and not yet at its end.
func (s *subject) runs(ctx context.Context) bool {
	result, err := s.lab.Machine.Exec(ctx, machine.Command{Argv: []string{"systemctl", "is-system-running"}})
	answer := strings.TrimSpace(result.Stdout)
	return err == nil && (answer == "starting" || answer == "running" || answer == "degraded")
}

// outage measures how long the API was away while do was done, in seconds.
func (s *subject) outage(ctx context.Context, do func(context.Context) error) (float64, error) {
	meter, err := drive.StartMeter(ctx, s.lab, oldAddress, newAddress)
	if err != nil {
		return 0, err
	}
	if err = do(ctx); err == nil {
		err = meter.CatchUp(ctx)
	}
	outage, merr := meter.Stop()
	if err != nil {
		return 0, err
	}
	return outage.Seconds(), merr
}

// settle waits until the node has nothing left to do: booted, idle, its operator up, and its disk flushed. That the object
// is idle tells nothing of the operator: it says so since before the reboot. And an operator that says it is ready may still wait for its
// first answers: an API server that has just started puts it off for a second or two (429). So it has to have looked.
func (s *subject) settle(ctx context.Context) error {
	if err := s.lab.Ready(ctx); err != nil {
		return err
	}
	if err := s.idle(ctx); err != nil {
		return err
	}
	if err := s.script(ctx, lookedScript, operatorMetrics); err != nil {
		return fmt.Errorf("wait until the operator has looked at the node: %w", err)
	}
	return s.run(ctx, []string{"sync"}, nil)
}

// now is the node's clock, which need not be ours.
func (s *subject) now(ctx context.Context) (time.Time, error) {
	text, err := s.output(ctx, "date", "+%s.%N")
	if err != nil {
		return time.Time{}, err
	}
	return moment(text)
}

// moment parses seconds since 1970 with a fraction, as date +%s.%N writes them.
func moment(text string) (time.Time, error) {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %q: %w", text, err)
	}
	return time.UnixMicro(int64(seconds * 1e6)), nil
}

// request is what the administrator asks for in every change.
func request() map[string]any {
	away := network.Away()
	return map[string]any{"spec": map[string]any{
		"stage": lcav1.StageConfig,
		"ipv4": map[string]any{
			"address": newAddress.String(), "machineNetwork": newNetwork, "gateway": away.Gateway.Addr().String(),
		},
		"dnsServers": []string{away.DNS.Addr().String(), away.Gateway.Addr().String()},
	}}
}

// explain adds the node's own account to an error.
func (s *subject) explain(ctx context.Context, err error) error {
	j, jerr := s.driver.Journal(context.WithoutCancel(ctx))
	if jerr != nil {
		return fmt.Errorf("%w (the node gives no account: %w)", err, jerr)
	}
	return fmt.Errorf("%w\nthe node says: %s; %s; %s\nlook around with: build/bin/lab --name %s shell", err, j.Where, j.Failure, j.Cause, s.lab.Name)
}
