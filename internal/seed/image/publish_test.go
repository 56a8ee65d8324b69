package image_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

// lossy is a registry that acknowledges a blob and does not have it afterwards.
type lossy struct {
	host.Repository
	lost string
	why  error
}

func (l *lossy) Has(ctx context.Context, digest string) (bool, error) {
	if digest == l.lost {
		return false, l.why
	}
	return l.Repository.Has(ctx, digest)
}

// The tag gets no image whose layers the registry does not have. An account that may not ask for them publishes all the same.
func TestATagGetsOnlyAnImageThatTheRegistryHas(t *testing.T) {
	r := &lossy{Repository: repository(t)}
	p := &image.Publisher{Repository: r, Tag: "1"}
	require.NoError(t, p.Add(t.Context(), image.Bytes(image.Var, 0o600, []byte("content"))))
	r.lost = p.Layers()[0].Digest
	labels := map[string]string{image.LabelFormat: image.FormatVersion, image.LabelCluster: "{}"}
	_, err := p.Finish(t.Context(), "amd64", labels)
	require.ErrorContains(t, err, "the registry has lost "+image.Var)
	_, err = r.Manifest(t.Context(), "1")
	require.ErrorIs(t, err, host.ErrNoImage)
	r.why = host.ErrRegistryAway
	_, err = p.Finish(t.Context(), "amd64", labels)
	require.ErrorIs(t, err, host.ErrRegistryAway)
	r.why = host.ErrRegistryForbidden
	_, err = p.Finish(t.Context(), "amd64", labels)
	require.NoError(t, err)
}
