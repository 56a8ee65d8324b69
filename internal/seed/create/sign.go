package create

import (
	"context"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

// signImage publishes a signature where the request asks for one.
func (g *generation) signImage(ctx context.Context, repo host.Repository, digest string) (bool, error) {
	if !g.request.Sign {
		return false, nil
	}
	key, err := g.Files.Read(seed.SigningKeyFile)
	if err != nil {
		return false, flow.Permanent(fmt.Errorf("read the signing key: %w", err))
	}
	password, err := g.Files.Read(seed.SigningPasswordFile)
	if err != nil {
		password = nil // a key need not have one
	}
	signer, err := image.ParseKey(key, password)
	if err != nil {
		return false, flow.Permanent(err)
	}
	if err := image.Sign(ctx, repo, repositoryOf(g.request.SeedImage), digest, signer); err != nil {
		return false, fmt.Errorf("sign the image: %w", err)
	}
	return true, nil
}
