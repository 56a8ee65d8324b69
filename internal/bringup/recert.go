package bringup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// RecertImageRecord names the image of recert that was fetched onto the node.
const RecertImageRecord = host.StateDir + "/recert-image.json"

// Recert are the two engines that rewrite certificates and cluster state.
type Recert struct {
	Native host.Recert
	Images host.RecertImages
	Files  host.Files
}

// RunRecert has the engine do its work and notes the result. image names the image that recert runs in; an empty name
// selects the native engine.
func RunRecert(r Recert, image func() (host.RecertImage, error), note func(string) error) flow.Step {
	return flow.Step{
		Name: StepRecert, Title: "Rewrite certificates and cluster state", Tries: 2, Pause: 5 * time.Second,
		Do: func(ctx context.Context) error {
			img, err := image()
			if err != nil {
				return err
			}
			engine, name := r.Native, "native engine"
			if img.Name != "" {
				engine, name = r.Images.Engine(img), "image "+img.Name
			}
			err = engine.Run(ctx, host.RecertConfig)
			if errors.Is(err, host.ErrHalfDone) {
				err = flow.Permanent(err) // only the old stateroot still has the former state
			}
			if err != nil {
				return fmt.Errorf("recert: %w", err)
			}
			return note(recertNote(r.Files, name))
		},
	}
}

// pullSpec is a fully qualified name of an image: host, path, then tag, digest or both. Anything else could be a flag or
// a prompt to the program that pulls.
var pullSpec = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+` +
	`(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)

// RefuseImage says what is wrong with the image that recert is to run in; empty selects the native engine.
func RefuseImage(image string) (problem, hint string) {
	if image == "" || pullSpec.MatchString(image) {
		return "", ""
	}
	return fmt.Sprintf("recert cannot run in %q, which is not a pull specification", image),
		"name registry, path and tag, for example quay.io/edge-infrastructure/recert:v0, or remove the annotation: " +
			"lca-cli rewrites certificates by itself and needs no image"
}

// CheckImage is RefuseImage as an error.
func CheckImage(image string) error {
	if problem, hint := RefuseImage(image); problem != "" {
		return fmt.Errorf("%s; %s", problem, hint)
	}
	return nil
}

// imageRecord is recert-image.json.
type imageRecord struct {
	Image string `json:"image"`
}

// Fetch pulls an image of recert onto the node and records its name.
func (r Recert) Fetch(ctx context.Context, image host.RecertImage) error {
	if err := CheckImage(image.Name); err != nil {
		return err
	}
	if err := r.Images.Fetch(ctx, image); err != nil {
		return fmt.Errorf("fetch the image that recert runs in: %w", err)
	}
	return operation.WriteJSON(r.Files, RecertImageRecord, imageRecord{image.Name})
}

// CachedImage is the image of recert that was last fetched onto the node; empty for none.
func CachedImage(files host.Files) string {
	var r imageRecord
	data, err := files.Read(RecertImageRecord)
	if err != nil || json.Unmarshal(data, &r) != nil {
		return ""
	}
	return r.Image
}
