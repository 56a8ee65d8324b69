package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// tolerant are Deployments that record a stateroot of which only files are left that cannot be removed, such as a mount, and go on:
// the node must not be kept from rest, and from another change, by a file.
type tolerant struct {
	host.Deployments
	files host.Files
}

func (t tolerant) Remove(ctx context.Context, name string) error {
	err := t.Deployments.Remove(ctx, name)
	if err != nil && !errors.Is(err, host.ErrHeld) {
		return err
	}
	remains, readErr := ipconfig.ReadRemains(t.files)
	if readErr != nil {
		return fmt.Errorf("read what earlier cleanups left: %w", errors.Join(readErr, err))
	}
	was, known := remains[name]
	if err == nil && !known || err != nil && was == err.Error() {
		return nil
	}
	if delete(remains, name); err != nil {
		remains[name] = err.Error()
	}
	if err := ipconfig.WriteRemains(t.files, remains); err != nil {
		return fmt.Errorf("record what the cleanup left: %w", err)
	}
	return nil
}
