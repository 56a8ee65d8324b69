package host

import (
	"context"
	"errors"
)

// RecertImage is what the container engine for recert runs.
type RecertImage struct {
	// Name is a pull specification.
	Name string
	// AuthFile is a dockerconfigjson on the node to pull with; one that does not exist is none.
	AuthFile string
}

// RecertImages is the container engine for recert, one for each image.
type RecertImages interface {
	// Fetch ensures that every image the engine needs is on the node, the cluster's own etcd image included. It does not
	// pull an image again.
	Fetch(ctx context.Context, image RecertImage) error
	// Engine runs the image. It pulls nothing, because the network may be the one that is being replaced: without the
	// image a run fails before it changes anything.
	Engine(image RecertImage) Recert
}

// ErrHalfDone is matched by the error of a Recert that can neither continue nor repeat an interrupted run: the state of
// the cluster's data is unknown.
var ErrHalfDone = errors.New("recert was interrupted and cannot be repeated")
