package ipconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// pullSpec is a fully qualified name of an image: host, path, then tag, digest or both. What does not look like one
// would be a flag or a prompt to the program that pulls.
var pullSpec = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+` +
	`(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)

// refuseImage says what is wrong with the image that recert is to run in; empty means the native engine.
func refuseImage(image string) (problem, hint string) {
	if image == "" || pullSpec.MatchString(image) {
		return "", ""
	}
	return fmt.Sprintf("recert cannot run in %q, which is not a pull specification", image),
		"name registry, path and tag, for example quay.io/edge-infrastructure/recert:v0, or remove the annotation: " +
			"lca-cli rewrites certificates by itself and needs no image"
}

// CheckImage is refuseImage as an error.
func CheckImage(image string) error {
	if problem, hint := refuseImage(image); problem != "" {
		return fmt.Errorf("%s; %s", problem, hint)
	}
	return nil
}

// image is what the operation has recert run in; none for the native engine.
func (n Node) image() (image host.RecertImage, chosen bool, err error) {
	post, err := ReadPostPivot(n.Files)
	if err != nil || post.RecertImage == "" {
		return host.RecertImage{}, false, err
	}
	if err := CheckImage(post.RecertImage); err != nil {
		return host.RecertImage{}, false, flow.Permanent(fmt.Errorf("%s: %w", host.PostPivotConfig, err))
	}
	return host.RecertImage{Name: post.RecertImage, AuthFile: host.RecertPullSecret}, true, nil
}

// fetchImage gets the image while the network is one that works, and before anything is made or stopped. Where an
// image is taken back nothing needs to be: one more image on the node does no harm, and the next try has it.
func (p *PrePivot) fetchImage(ctx context.Context) error {
	image, chosen, err := p.Node.image()
	if err != nil || !chosen {
		return err
	}
	return FetchImage(ctx, p.Node, image)
}

// FetchImage puts an image of recert onto the node and notes which one it was, for whoever asks later.
func FetchImage(ctx context.Context, n Node, image host.RecertImage) error {
	if err := CheckImage(image.Name); err != nil {
		return err
	}
	if err := n.RecertImages.Fetch(ctx, image); err != nil {
		return fmt.Errorf("fetch the image that recert runs in: %w", err)
	}
	return writeJSON(n.Files, host.RecertImageRecord, imageRecord{image.Name})
}

// imageRecord is recert-image.json.
type imageRecord struct {
	Image string `json:"image"`
}

// CachedImage is the image of recert that was last fetched onto the node; empty for none.
func CachedImage(files host.Files) string {
	var r imageRecord
	data, err := files.Read(host.RecertImageRecord)
	if err != nil || json.Unmarshal(data, &r) != nil {
		return ""
	}
	return r.Image
}

// recert has the chosen engine do its work, and journals what it came to.
func (p *PostPivot) recert(ctx context.Context) error {
	image, chosen, err := p.Node.image()
	if err != nil {
		return err
	}
	engine, name := p.Node.Recert, "native engine"
	if chosen {
		engine, name = p.Node.RecertImages.Engine(image), "image "+image.Name
	}
	err = engine.Run(ctx, host.RecertConfig)
	if errors.Is(err, host.ErrHalfDone) {
		err = flow.Permanent(err) // only the old stateroot still has what it was
	}
	if err != nil {
		return fmt.Errorf("recert: %w", err)
	}
	return p.Runner.Note(FlowPostPivot, recertNote(p.Node.Files, name), noDeadline)
}
