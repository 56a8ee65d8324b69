package ipconfig

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
)

// imageAuth holds the pull secret while an image is fetched ahead of a change.
const imageAuth = host.StateDir + "/recert-image-auth.json"

func newFetchImageCommand(w Wiring) *cobra.Command {
	var image, secret string
	cmd := &cobra.Command{
		Use: "fetch-recert-image", Args: cobra.NoArgs,
		Short: "Fetch the image for recert before a change (run by " + ipconfig.UnitRecertImage + ")",
		RunE: func(cmd *cobra.Command, _ []string) error {
			node, _, err := w.Node(cmd.Context(), false)
			if err != nil {
				return err
			}
			if err := bringup.CheckImage(image); err != nil {
				return &verb.FinalError{Cause: err}
			}
			return fetchAhead(cmd.Context(), node, image, secret)
		},
	}
	cmd.Flags().StringVar(&image, "image", "", "pull specification of the image")
	cmd.Flags().StringVar(&secret, "pull-secret", "", "Secret of the agent's namespace to pull with (default: the node's own)")
	return cmd
}

func fetchAhead(ctx context.Context, node change.Ports, image, secret string) (err error) {
	want := host.RecertImage{Name: image, AuthFile: host.KubeletConfigJSON}
	if secret != "" {
		in, err := node.Cluster.Inputs(ctx, secret)
		if err != nil {
			return fmt.Errorf("read pull secret %s: %w", secret, err)
		}
		if err := node.Files.Write(imageAuth, in.PullSecret, 0o600); err != nil {
			return fmt.Errorf("write the pull secret: %w", err)
		}
		defer func() { _ = node.Files.Remove(imageAuth) }() // the next fetch overwrites it
		want.AuthFile = imageAuth
	}
	return node.FetchImage(ctx, want)
}
