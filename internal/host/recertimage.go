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
	// Fetch makes sure that all that the image's engine needs is on the node, the image of the cluster's own etcd
	// included. What is there already is not pulled again.
	Fetch(ctx context.Context, image RecertImage) error
	// Engine runs the image. It pulls nothing, because the network may be the one that is being left: without the
	// image a run fails and has done nothing.
	Engine(image RecertImage) Recert
}

// ErrHalfDone is matched by the error of a Recert that can neither go on with nor repeat what an earlier run, or
// this one, began: nobody knows what state the cluster's data is in.
var ErrHalfDone = errors.New("recert did not come to its end and cannot be repeated")
