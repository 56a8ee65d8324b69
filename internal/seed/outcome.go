package seed

import (
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Outcome is what an operation published; OutcomeFile holds it.
type Outcome struct {
	OperationID string `json:"operation-id"`
	Image       string `json:"image"`
	// Digest is the image's, with its algorithm.
	Digest string `json:"digest"`
	// Size is of all layers as they are sent, in bytes.
	Size   int64   `json:"size"`
	Layers []Layer `json:"layers"`
	// Sent is how many bytes of layers went over the network; the others the registry had.
	Sent int64 `json:"sent"`
	// Signed says that a signature was published, too.
	Signed bool `json:"signed,omitempty"`
	// TagUnread says that the registry did not let the tag be read before it was written: what it had is not known.
	TagUnread bool `json:"tag-unread,omitempty"`
	// Downtime is how long kubelet was stopped, CopyReflinked says that the copy shared its data with the original.
	Downtime      Duration  `json:"downtime"`
	CopyReflinked bool      `json:"copy-reflinked,omitempty"`
	Published     time.Time `json:"published"`
}

// Layer is one layer of a published image.
type Layer struct {
	// Content is the file at / of the image that the layer holds.
	Content string `json:"content"`
	Digest  string `json:"digest"`
	Size    int64  `json:"size"`
	// Reused: the registry had it.
	Reused bool `json:"reused,omitempty"`
}

// Duration is in seconds where it is stored.
type Duration float64

// Warnings are what a person has to know of a published image, in words.
func (o Outcome) Warnings() []string {
	if !o.TagUnread {
		return nil
	}
	registry, repository := SplitImage(o.Image)
	return []string{fmt.Sprintf("registry %s did not let the account read tag %s of %s beforehand: "+
		"whether another image had it is not known", registry, Tag(o.Image), repository)}
}

// ReadOutcome loads the outcome of the operation that published last; an error matching fs.ErrNotExist where none did.
func ReadOutcome(files host.Files) (o Outcome, err error) {
	return o, operation.ReadJSON(files, OutcomeFile, &o)
}
