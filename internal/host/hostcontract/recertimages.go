package hostcontract

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// RecertImagesFixture is a node with a stopped cluster and a configuration for recert. Its registry has
// FieldImage and no other image of recert; the image of etcd is on the node.
type RecertImagesFixture struct {
	Images host.RecertImages
	Files  host.Files
	Config string
	// Pulls counts images that were pulled, Runs how often an image was run.
	Pulls, Runs func() int
	// Break makes the image fail in the middle of its work.
	Break func()
}

// FieldImage is the image that the fixture's registry has.
const FieldImage = "registry.example.com/recert:v0"

// TestRecertImages proves what host.RecertImages promises.
func TestRecertImages(t *testing.T, fresh func(t *testing.T) RecertImagesFixture) {
	t.Helper()
	contract(t, fresh, []behaviour[RecertImagesFixture]{
		{"an image is pulled once", imagePulledOnce},
		{"an image that no registry has is an error that names it", imageUnknown},
		{"a run pulls nothing and does nothing without its image", imageMissing},
		{"a second run does nothing", imageRunsOnce},
		{"another configuration is another run", imageRunsPerConfig},
		{"a run that broke off is never repeated", imageHalfDone},
	})
}

var fieldImage = host.RecertImage{Name: FieldImage}

func imagePulledOnce(t *testing.T, f RecertImagesFixture) {
	for range 2 {
		noError(t, f.Images.Fetch(t.Context(), fieldImage))
	}
	require.Equal(t, 1, f.Pulls())
}

func imageUnknown(t *testing.T, f RecertImagesFixture) {
	err := f.Images.Fetch(t.Context(), host.RecertImage{Name: "registry.example.com/absent:v0"})
	require.ErrorContains(t, err, "registry.example.com/absent:v0")
}

func imageMissing(t *testing.T, f RecertImagesFixture) {
	err := f.Images.Engine(fieldImage).Run(t.Context(), f.Config)
	require.ErrorContains(t, err, FieldImage)
	require.NotErrorIs(t, err, host.ErrHalfDone)
	require.Zero(t, f.Pulls()+f.Runs())
	noError(t, f.Images.Fetch(t.Context(), fieldImage), f.Images.Engine(fieldImage).Run(t.Context(), f.Config))
	require.Equal(t, 1, f.Runs())
}

func imageRunsOnce(t *testing.T, f RecertImagesFixture) {
	noError(t, f.Images.Fetch(t.Context(), fieldImage))
	for range 2 {
		noError(t, f.Images.Engine(fieldImage).Run(t.Context(), f.Config))
	}
	require.Equal(t, 1, f.Runs())
}

func imageRunsPerConfig(t *testing.T, f RecertImagesFixture) {
	noError(t, f.Images.Fetch(t.Context(), fieldImage), f.Images.Engine(fieldImage).Run(t.Context(), f.Config))
	config, err := f.Files.Read(f.Config)
	noError(t, err, f.Files.Write(f.Config, append(config, '\n'), 0o600))
	noError(t, f.Images.Engine(fieldImage).Run(t.Context(), f.Config))
	require.Equal(t, 2, f.Runs())
}

func imageHalfDone(t *testing.T, f RecertImagesFixture) {
	noError(t, f.Images.Fetch(t.Context(), fieldImage))
	f.Break()
	for range 2 {
		require.ErrorIs(t, f.Images.Engine(fieldImage).Run(t.Context(), f.Config), host.ErrHalfDone)
	}
	require.Equal(t, 1, f.Runs())
}
