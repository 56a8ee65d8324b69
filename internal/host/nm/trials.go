package nm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
)

// Trials implements host.NetworkTrials.
func (n *Network) Trials(ctx context.Context) ([]host.NetworkTrial, error) {
	c, err := n.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for checkpoints of other programs: %w", err)
	}
	defer c.close()
	own, err := n.ownLease()
	if err != nil {
		return nil, err
	}
	trials, err := c.foreignTrials(ctx, own)
	if err != nil {
		return nil, err
	}
	for i := range trials {
		trials[i].Program = n.makerOf(ctx, trials[i].ID)
	}
	return trials, nil
}

// EndTrial implements host.NetworkTrials.
func (n *Network) EndTrial(ctx context.Context, id string, keep bool) error {
	trials, err := n.Trials(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(trials, func(t host.NetworkTrial) bool { return t.ID == id }) {
		return fmt.Errorf("end checkpoint %s: no other program has such a checkpoint; 'lca-cli network status' lists them", id)
	}
	c, err := n.connect(ctx)
	if err != nil {
		return fmt.Errorf("end checkpoint %s: %w", id, err)
	}
	defer c.close()
	settle := c.rollBack
	if keep {
		settle = c.dropLease
	}
	if err := settle(ctx, lease{Path: dbus.ObjectPath(id)}); err != nil {
		return fmt.Errorf("end checkpoint %s: %w", id, err)
	}
	n.o.Log.Info("ended the checkpoint of another program", "checkpoint", id, "kept", keep)
	return nil
}

// ownLease is the checkpoint of the transaction that is open; none where there is none.
func (n *Network) ownLease() (lease, error) {
	r, err := n.loadJournal()
	if err != nil || r == nil {
		return lease{}, err
	}
	return r.Lease, nil
}

// foreignTrials are the checkpoints that are not ours. Paths are used again when NetworkManager restarts, so the time of creation counts.
func (c *client) foreignTrials(ctx context.Context, own lease) (trials []host.NetworkTrial, err error) {
	p, err := c.readProperties(ctx, pathManager, ifaceManager)
	if err != nil {
		return nil, fmt.Errorf("look for checkpoints of other programs: %w", err)
	}
	for _, path := range profile.Get[[]dbus.ObjectPath](p, "Checkpoints") {
		cp, err := c.readProperties(ctx, path, ifaceLease)
		if isGone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the checkpoint %s: %w", path, err)
		}
		created := profile.Get[int64](cp, "Created")
		if path == own.Path && created == own.Created {
			continue
		}
		t := host.NetworkTrial{ID: string(path), Began: sinceBoot(created)}
		if seconds := profile.Get[uint32](cp, "RollbackTimeout"); seconds > 0 {
			t.Ends = t.Began.Add(time.Duration(seconds) * time.Second)
		}
		trials = append(trials, t)
	}
	return trials, nil
}

// sinceBoot turns a time of NetworkManager's clock, milliseconds since the boot, into one of the day. It is rounded to seconds: the two
// clocks are read one after the other, and two descriptions of a checkpoint are to be equal.
func sinceBoot(milliseconds int64) time.Time {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(milliseconds)*time.Millisecond - time.Duration(now.Nano())).Round(time.Second)
}

// makerOf names the program that made a checkpoint, by the last line of NetworkManager's log about it. D-Bus has no record of it.
func (n *Network) makerOf(ctx context.Context, id string) string {
	if n.o.ManagerLog == nil {
		return ""
	}
	log, err := n.o.ManagerLog(ctx)
	if err != nil {
		return "" // it is of use, and not needed
	}
	pid := checkpointMaker(string(log), id)
	if pid == 0 {
		return ""
	}
	name, err := n.o.Files.Read("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return fmt.Sprintf("process %d, which has ended,", pid)
	}
	return fmt.Sprintf("%s (process %d)", strings.TrimSpace(string(name)), pid)
}

// checkpointMaker finds the process that made a checkpoint, in lines such as
//
//	audit: op="checkpoint-create" arg="/org/freedesktop/NetworkManager/Checkpoint/1" pid=46 uid=0 result="success"
func checkpointMaker(log, id string) (pid int) {
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `op="checkpoint-create" arg="`+id+`"`) {
			continue
		}
		for field := range strings.FieldsSeq(line) {
			if text, ok := strings.CutPrefix(field, "pid="); ok {
				pid, _ = strconv.Atoi(text) // 0 where it is none
			}
		}
	}
	return pid
}
