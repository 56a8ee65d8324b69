package create

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// check refuses what cannot succeed while nothing is touched: a registry that does not take the image, a disk that does
// not take the copy. It runs again in each attempt, unless the image needs the registry alone.
func (g *generation) check(ctx context.Context) error {
	if done, err := g.published(); err != nil || done {
		return err
	}
	if _, err := g.open(ctx); err != nil {
		return err
	}
	if done, err := g.captured(ctx); err != nil || done {
		return err
	}
	if err := stateroot.OwnState(g.Files, g.booted.Stateroot); err != nil {
		return flow.Permanent(err)
	}
	room := stateroot.Room{Files: g.Files, Disk: g.Trees}
	need, free, err := room.SpaceFor(ctx, g.booted.Stateroot)
	if err != nil {
		return err
	}
	if need.Bytes > free.Bytes {
		return flow.Permanent(fmt.Errorf("a copy of /var needs %d MiB and %d MiB are free: free %d MiB, then ask again",
			need.Bytes>>20, free.Bytes>>20, (need.Bytes-free.Bytes)>>20+1))
	}
	return nil
}

// open connects to the repository. What no retry mends is permanent.
func (g *generation) open(ctx context.Context) (host.Repository, error) {
	repo, err := g.Registries.Open(ctx, host.RegistryAccess{
		Image: g.request.SeedImage, AuthFile: g.request.AuthFile, CABundle: g.request.CABundle, Push: true,
	})
	return repo, hopeless(err)
}

// hopeless marks errors of a registry that another try in this run would not mend.
func hopeless(err error) error {
	for _, fatal := range []error{host.ErrRegistryDenied, host.ErrRegistryTrust, host.ErrRegistryFull} {
		if errors.Is(err, fatal) {
			return flow.Permanent(err)
		}
	}
	return err
}
