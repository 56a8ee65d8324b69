package create

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// checkRequest refuses what cannot succeed while nothing is touched: a registry that does not take the image, a disk that does
// not take the copy. It runs again in each attempt, unless the image needs the registry alone.
func (g *generation) checkRequest(ctx context.Context) error {
	if done, err := g.isPublished(); err != nil || done {
		return err
	}
	repo, err := g.openRepository(ctx)
	if err != nil {
		return err
	}
	if err := g.checkTag(ctx, repo); err != nil {
		return err
	}
	if done, err := g.isCaptured(ctx); err != nil || done {
		return err
	}
	if err := stateroot.OwnState(g.Files, g.booted.Stateroot); err != nil {
		return flow.Permanent(err)
	}
	need, free, err := seed.RoomForCopy(ctx, g.Trees)
	if err != nil {
		return err
	}
	if lacking := seed.RoomLacking(need, free); lacking != "" {
		return flow.Permanent(fmt.Errorf("%s: remove what is not needed below /var, then ask again", lacking))
	}
	return nil
}

// openRepository connects to the repository. What no retry mends is permanent.
func (g *generation) openRepository(ctx context.Context) (host.Repository, error) {
	repo, err := g.Registries.Open(ctx, host.RegistryAccess{
		Image: g.request.SeedImage, AuthFile: g.request.AuthFile, CABundle: g.request.CABundle, Push: true,
	})
	return repo, g.explainError(err)
}

// announcement is what AnnouncedFile holds.
type announcement struct {
	Image  string `json:"image"`
	Digest string `json:"digest"`
	// Operation announced it. TagUnread: it was not allowed to read the tag before.
	Operation string `json:"operation,omitempty"`
	TagUnread bool   `json:"tag-unread,omitempty"`
}

// writeAnnouncement notes what is about to be published.
func (g *generation) writeAnnouncement(digest string, unread bool) error {
	return operation.WriteJSON(g.Files, seed.AnnouncedFile, announcement{g.request.SeedImage, digest, g.request.OperationID, unread})
}

// lastAnnouncement is what was announced last; without a name where nothing was, or it cannot be read.
func (g *generation) lastAnnouncement() (last announcement) {
	if err := operation.ReadJSON(g.Files, seed.AnnouncedFile, &last); err != nil {
		return announcement{}
	}
	return last
}

// checkTag refuses to replace an image that this node did not publish. Some registries deny the reading of a tag that does
// not exist, or accounts may write alone: the right to write is proved already, so that is no reason to end.
func (g *generation) checkTag(ctx context.Context, repo host.Repository) error {
	tag := seed.Tag(g.request.SeedImage)
	m, err := repo.Manifest(ctx, tag)
	switch {
	case errors.Is(err, host.ErrNoImage):
		return nil
	case errors.Is(err, host.ErrRegistryDenied):
		g.Log.Warn("the registry does not let the account read the tag: whether another image has it is not known",
			"tag", tag, "error", err)
		return nil
	}
	if err != nil {
		return g.explainError(err)
	}
	if o, err := seed.ReadOutcome(g.Files); err == nil && o.Image == g.request.SeedImage && o.Digest == m.Digest {
		return nil
	}
	if last := g.lastAnnouncement(); last.Image == g.request.SeedImage && last.Digest == m.Digest {
		return nil
	}
	registry, repository := seed.SplitImage(g.request.SeedImage)
	return flow.Permanent(fmt.Errorf("registry %s, repository %s: tag %s has another image, %s, which this node did not publish: choose "+
		"another tag in spec.seedImage, or delete this one", registry, repository, tag, m.Digest))
}

// explainError explains errors of a registry, and marks those that another try in this run would not mend.
func (g *generation) explainError(err error) error {
	err = seed.ExplainRegistry(g.request.SeedImage, err)
	for _, fatal := range []error{host.ErrRegistryDenied, host.ErrRegistryTrust, host.ErrRegistryFull, host.ErrRegistryPlain} {
		if errors.Is(err, fatal) {
			return flow.Permanent(err)
		}
	}
	return err
}
