package containers

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

// Images lists the runtime's images, for host.SystemReports. A node without a runtime has none.
func (r *Runtime) Images(ctx context.Context) ([]host.ContainerImage, error) {
	state, err := r.units.State(ctx, host.UnitCRIO)
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	if !state.Running() {
		return nil, nil
	}
	res, err := r.runner.Run(ctx, run.Command{Argv: []string{"crictl", "images", "--output", "json"}, Timeout: each})
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	return parseImages(res.Stdout)
}

func parseImages(data []byte) (out []host.ContainerImage, err error) {
	var doc struct {
		Images []struct {
			Tags    []string `json:"repoTags"`
			Digests []string `json:"repoDigests"`
		} `json:"images"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("decode the list of images of crictl: %w", err)
	}
	for _, i := range doc.Images {
		out = append(out, host.ContainerImage{Tags: i.Tags, Digests: i.Digests})
	}
	return out, nil
}
