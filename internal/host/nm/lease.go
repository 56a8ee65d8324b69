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

// errLeaseLost says that NetworkManager no longer holds our checkpoint: it took the
// old network back, or it restarted.
var errLeaseLost = errors.New("NetworkManager no longer holds the checkpoint")

// takeLease opens a checkpoint of the whole network. NetworkManager goes back to it by itself
// when the time is over, so a dead process heals.
func (c *client) takeLease(ctx context.Context, length time.Duration) (lease, error) {
	owner, err := c.owner(ctx)
	if err != nil {
		return lease{}, fmt.Errorf("take a checkpoint: %w", err)
	}
	l := lease{Owner: owner}
	flags := leaseDeleteNew | leaseDisconnectNew | leaseTrackDNS
	create := func() error {
		args := []any{[]dbus.ObjectPath{}, seconds(length), flags}
		return c.call(ctx, pathManager, ifaceManager+".CheckpointCreate", args, &l.Path)
	}
	err = create()
	if isError(err, busName+".InvalidArguments") && !strings.Contains(err.Error(), "already included") {
		flags &^= leaseTrackDNS // an older NetworkManager
		err = create()
	}
	if err != nil {
		return lease{}, fmt.Errorf("open a checkpoint: %w", err)
	}
	p, err := c.properties(ctx, l.Path, ifaceLease)
	if err != nil {
		return lease{}, fmt.Errorf("open a checkpoint: %w", err)
	}
	l.Created = profile.Get[int64](p, "Created")
	return l, nil
}

// seconds rounds up: NetworkManager counts whole ones, and 0 would mean for ever.
func seconds(d time.Duration) uint32 { return uint32((d + time.Second - 1) / time.Second) }

// holds says whether NetworkManager still has the checkpoint.
func (c *client) holds(ctx context.Context, l lease) (bool, error) {
	owner, err := c.owner(ctx)
	if err != nil || owner != l.Owner || l.Path == "" {
		return false, err
	}
	p, err := c.properties(ctx, pathManager, ifaceManager)
	if err != nil {
		return false, err
	}
	if !slices.Contains(profile.Get[[]dbus.ObjectPath](p, "Checkpoints"), l.Path) {
		return false, nil
	}
	cp, err := c.properties(ctx, l.Path, ifaceLease)
	if gone(err) {
		return false, nil
	}
	return err == nil && profile.Get[int64](cp, "Created") == l.Created, err
}

// extend asks for another full lease from now.
func (c *client) extend(ctx context.Context, l lease, length time.Duration) error {
	err := c.call(ctx, pathManager, ifaceManager+".CheckpointAdjustRollbackTimeout", []any{l.Path, seconds(length)})
	if err != nil {
		return fmt.Errorf("%w: %w", errLeaseLost, err)
	}
	return nil
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

// keepAlive extends the lease until ctx ends; it calls lost once when that fails.
func (c *client) keepAlive(ctx context.Context, l lease, length time.Duration, log *slog.Logger, lost func(error)) {
	tick := time.NewTicker(length / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		call, cancel := context.WithTimeout(ctx, length/3)
		err := c.extend(call, l, length)
		cancel()
		if err != nil && ctx.Err() == nil {
			log.Error("the network's checkpoint is lost", "err", err)
			lost(err)
			return
		}
	}
}
