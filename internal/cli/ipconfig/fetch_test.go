package ipconfig_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// secrets is a cluster that has one pull secret.
type secrets struct{ change.Cluster }

func (secrets) Inputs(_ context.Context, ref string) (change.Inputs, error) {
	if ref != "pull" {
		return change.Inputs{}, errors.New("not found")
	}
	return change.Inputs{PullSecret: []byte("hush-hush")}, nil
}

// watched sees what was pulled with.
type watched struct {
	host.RecertImages
	files host.Files
	auth  string
}

func (w *watched) Fetch(ctx context.Context, image host.RecertImage) error {
	if text, err := w.files.Read(image.AuthFile); err == nil {
		w.auth = string(text)
	}
	return w.RecertImages.Fetch(ctx, image)
}

func TestFetchingAnImageAhead(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{})
	images := &watched{RecertImages: n.RecertImages(), files: n.Files()}
	fetch := func(words ...string) error {
		images.auth = ""
		cmd := cli.Command(cli.Wiring{Wiring: verb.Wiring{Log: slog.New(slog.DiscardHandler)}, Node: func(context.Context, bool) (change.Ports, operation.Instruments, error) {
			return change.Ports{Node: host.Node{Files: n.Files(), RecertImages: images}, Cluster: secrets{}, Log: slog.New(slog.DiscardHandler)}, operation.Instruments{}, nil
		}})
		cmd.SetArgs(append([]string{"fetch-recert-image"}, words...))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		return cmd.ExecuteContext(t.Context())
	}
	var final *verb.FinalError
	require.ErrorAs(t, fetch("--image", "--rm"), &final, "no second try makes this an image")
	require.Error(t, fetch("--image", "quay.io/x/absent:1"))
	require.Empty(t, bringup.CachedImage(n.Files()))

	require.NoError(t, fetch("--image", "quay.io/x/recert:1", "--pull-secret", "pull"))
	require.Equal(t, "hush-hush", images.auth)
	require.Equal(t, "quay.io/x/recert:1", bringup.CachedImage(n.Files()))
	left, err := n.Files().List(host.StateDir)
	require.NoError(t, err)
	require.NotContains(t, left, "recert-image-auth.json", "the secret does not stay")
	require.ErrorContains(t, fetch("--image", "quay.io/x/recert:2", "--pull-secret", "other"), "pull secret other")
}
