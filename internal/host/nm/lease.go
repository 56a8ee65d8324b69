package nm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
)

// Flags of CheckpointCreate.
const (
	leaseDeleteNew     uint32 = 0x02 // profiles made meanwhile go on rollback
	leaseDisconnectNew uint32 = 0x04 // devices that appeared meanwhile go down on rollback
	leaseTrackDNS      uint32 = 0x20 // global DNS too; NetworkManager 1.48 and later
)

// The two ways to lose a checkpoint.
const (
	// errLeaseLost says that NetworkManager no longer holds our checkpoint: it rolled it back, or it restarted.
	errLeaseLost = passing("NetworkManager no longer holds the checkpoint")
	// errLeaseOver says that NetworkManager did not answer before the checkpoint's time was over.
	errLeaseOver = passing("the time of the checkpoint is over, and NetworkManager has not answered in it")
)

// errOnTrial says that another program holds a checkpoint, and may still go back to it.
const errOnTrial = passing("another program has the network on trial")

// takeLease opens a checkpoint of the whole network. NetworkManager goes back to it by itself
// when the time is over, so a dead process heals.
func (c *client) takeLease(ctx context.Context, length time.Duration) (lease, error) {
	owner, err := c.busOwner(ctx)
	if err != nil {
		return lease{}, fmt.Errorf("take a checkpoint: %w", err)
	}
	l := lease{Owner: owner}
	flags := leaseDeleteNew | leaseDisconnectNew | leaseTrackDNS
	create := func() error {
		args := []any{[]dbus.ObjectPath{}, wholeSeconds(length), flags}
		return c.call(ctx, pathManager, ifaceManager+".CheckpointCreate", args, &l.Path)
	}
	err = create()
	if isError(err, busName+".InvalidArguments") && !strings.Contains(err.Error(), "already included") {
		flags &^= leaseTrackDNS // an older NetworkManager
		err = create()
	}
	if isError(err, busName+".InvalidArguments") { // it is there since a moment ago
		err = fmt.Errorf("%w: %w", errOnTrial, err)
	}
	if err != nil {
		return lease{}, fmt.Errorf("open a checkpoint: %w", err)
	}
	p, err := c.readProperties(ctx, l.Path, ifaceLease)
	if err != nil {
		return lease{}, fmt.Errorf("open a checkpoint: %w", err)
	}
	l.Created = profile.Get[int64](p, "Created")
	return l, nil
}

// otherLeasesTime is how long a change waits for the checkpoints of other programs to end. A handler of kubernetes-nmstate that was
// ended in the middle of a change leaves one for 480 s.
const otherLeasesTime = 10 * time.Minute

// awaitOtherLeases waits until no program holds a checkpoint: it may still go back to it, and then the network is another one. One
// that has no end is an error at once.
func (c *client) awaitOtherLeases(ctx context.Context, log *slog.Logger) error {
	trials, err := c.foreignTrials(ctx, lease{})
	if err != nil || len(trials) == 0 {
		return err
	}
	log.Warn("waiting until the checkpoint of another program ends", "trial", trials[0].String())
	e := c.subscribeEvents()
	defer e.close()
	ctx, cancel := context.WithTimeoutCause(ctx, otherLeasesTime, fmt.Errorf("%w for more than %s", errOnTrial, otherLeasesTime))
	defer cancel()
	if err := e.waitFor(ctx, func() ([]string, error) { return c.otherLeases(ctx) }); err != nil {
		return fmt.Errorf("wait for the checkpoint of another program to end: %w", err)
	}
	return nil
}

// otherLeases says which checkpoints there are, while we have none. One that has no end is an error.
func (c *client) otherLeases(ctx context.Context) (held []string, err error) {
	trials, err := c.foreignTrials(ctx, lease{})
	if err != nil {
		return nil, err
	}
	for _, t := range trials {
		if t.Ends.IsZero() {
			return nil, fmt.Errorf("%w: %s; 'lca-cli network rollback %s' ends it, 'lca-cli network commit %s' does and keeps its network",
				errOnTrial, t, t.ID, t.ID)
		}
		held = append(held, t.String())
	}
	return held, nil
}

// wholeSeconds rounds up: NetworkManager counts whole ones, and 0 would mean for ever.
func wholeSeconds(d time.Duration) uint32 { return uint32((d + time.Second - 1) / time.Second) }

// holdsLease says whether NetworkManager still has the checkpoint.
func (c *client) holdsLease(ctx context.Context, l lease) (bool, error) {
	owner, err := c.busOwner(ctx)
	if err != nil || owner != l.Owner || l.Path == "" {
		return false, err
	}
	p, err := c.readProperties(ctx, pathManager, ifaceManager)
	if err != nil {
		return false, err
	}
	if !slices.Contains(profile.Get[[]dbus.ObjectPath](p, "Checkpoints"), l.Path) {
		return false, nil
	}
	cp, err := c.readProperties(ctx, l.Path, ifaceLease)
	if isGone(err) {
		return false, nil
	}
	return err == nil && profile.Get[int64](cp, "Created") == l.Created, err
}

// extendLease asks for another full lease from now. Its error is an errLeaseLost where that is what the answer says.
func (c *client) extendLease(ctx context.Context, l lease, length time.Duration) error {
	err := c.call(ctx, pathManager, ifaceManager+".CheckpointAdjustRollbackTimeout", []any{l.Path, wholeSeconds(length)})
	switch {
	case err == nil:
		return nil
	case noSuchLease(err):
		return fmt.Errorf("%w: %w", errLeaseLost, err)
	}
	return fmt.Errorf("extend the checkpoint: %w", err)
}

// noSuchLease says that an answer came, by NetworkManager or for it: a checkpoint lives and ends with its process.
func noSuchLease(err error) bool {
	return isGone(err) || isError(err, busName+".InvalidArguments",
		"org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner")
}

// dropLease keeps the present network and ends the checkpoint.
func (c *client) dropLease(ctx context.Context, l lease) error {
	return c.call(ctx, pathManager, ifaceManager+".CheckpointDestroy", []any{l.Path})
}

// rollBack returns to the network of the checkpoint. Its error names the devices that failed to.
func (c *client) rollBack(ctx context.Context, l lease) error {
	var results map[string]uint32
	if err := c.call(ctx, pathManager, ifaceManager+".CheckpointRollback", []any{l.Path}, &results); err != nil {
		return fmt.Errorf("roll back the checkpoint: %w", err)
	}
	why := map[uint32]string{1: "it is gone", 2: "it is not managed any more", 3: "its profile could not be activated"}
	var failed []string
	for dev, code := range results {
		if code > 1 { // a device that is gone needs no rolling back
			failed = append(failed, fmt.Sprintf("%s: %s", dev, why[code]))
		}
	}
	if len(failed) > 0 {
		slices.Sort(failed)
		return fmt.Errorf("take the network back: %s", strings.Join(failed, ", "))
	}
	return nil
}

// keeper keeps a checkpoint alive while a change is under way.
type keeper struct {
	// extend asks NetworkManager for another full length from now.
	extend func(context.Context) error
	length time.Duration
	log    *slog.Logger
}

// keepExtending extends the checkpoint until ctx ends; taken is when it was asked for. Its error says how the checkpoint was lost: an
// answer said so (errLeaseLost), or its time ended without an answer (errLeaseOver). A NetworkManager that is busy answers
// late, so what has no answer is asked again, at shorter intervals.
func (k keeper) keepExtending(ctx context.Context, taken time.Time) error {
	over, pause := taken.Add(k.length), k.length/3
	for {
		if sleep(ctx, min(pause, time.Until(over))) != nil {
			return nil //nolint:nilerr // the change has ended
		}
		if !time.Now().Before(over) {
			return errLeaseOver
		}
		asked := time.Now()
		err := k.askExtension(ctx, over)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the change has ended
		case err == nil:
			over, pause = asked.Add(k.length), k.length/3
		case errors.Is(err, errLeaseLost):
			return err
		case !time.Now().Before(over):
			return fmt.Errorf("%w: %w", errLeaseOver, err)
		default:
			k.log.Warn("NetworkManager has not extended the checkpoint; asking again", "left", time.Until(over), "err", err)
			pause = k.length / 24
		}
	}
}

// askExtension gives NetworkManager a third of the length to answer, and no more than is left.
func (k keeper) askExtension(ctx context.Context, over time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, min(k.length/3, time.Until(over)))
	defer cancel()
	return k.extend(ctx)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// keepAlive runs the keeper of the transaction's checkpoint until ctx ends; lost is called once when the checkpoint is.
func (t *transaction) keepAlive(ctx context.Context, l lease, lost func(error)) {
	k := keeper{length: t.leaseLength(), log: t.log}
	k.extend = func(ctx context.Context) error { return t.c.extendLease(ctx, l, k.length) }
	if err := k.keepExtending(ctx, t.leased); err != nil {
		t.log.Error("the network's checkpoint is lost", "err", err)
		lost(err)
	}
}
