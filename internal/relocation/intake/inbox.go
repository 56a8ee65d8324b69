package intake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/delivery"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// Inbox implements onsite.Inbox.
type Inbox struct {
	files  host.Files
	finder delivery.Finder
	// gone: since the last configuration there was none anywhere, so that one that appears was plugged in now.
	gone bool
}

// NewInbox looks on volumes, in directories, and at what came by the page.
func NewInbox(files host.Files, volumes host.Volumes, directories ...delivery.Directory) *Inbox {
	i := &Inbox{files: files}
	i.finder = delivery.Finder{Volumes: volumes, Directories: directories, Silent: i.silentIndex, Typed: i.readTyped}
	return i
}

func (i *Inbox) readTyped() ([]byte, bool, error) {
	data, err := i.files.Read(relocation.TypedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read what came by the page: %w", err)
	}
	return data, true, nil
}

// silentIndex is delivery.Finder's.
func (i *Inbox) silentIndex(c siteconfig.SiteConfig) int {
	last, err := relocation.ReadLast(i.files)
	if err != nil {
		return -1
	}
	text, err := onsite.Text(c)
	if err != nil {
		return -1
	}
	return slices.Index(last.Silent(), relocation.Digest(text))
}

// Next implements onsite.Inbox.
func (i *Inbox) Next(ctx context.Context) (onsite.Delivery, error) {
	d, err := i.finder.Await(ctx, i.storeArrival)
	if err != nil {
		return onsite.Delivery{}, err
	}
	if err := i.files.Remove(relocation.ArrivalFile); err != nil {
		return onsite.Delivery{}, fmt.Errorf("remove %s: %w", relocation.ArrivalFile, err)
	}
	again := d.Typed || i.gone
	i.gone = false
	// What lies in the folders beside the configuration comes along, so the text of the file is not enough.
	data, err := onsite.Text(d.Config)
	if err != nil {
		return onsite.Delivery{}, fmt.Errorf("%s: %w", d.Place, err)
	}
	return onsite.Delivery{Data: data, Source: d.Place, Again: again}, nil
}

// storeArrival keeps the reason for the page and for status.
func (i *Inbox) storeArrival(reason error) error {
	if errors.Is(reason, delivery.ErrNone) {
		i.gone = true
		return i.files.Remove(relocation.ArrivalFile)
	}
	a := relocation.Arrival{Code: sitecode.Unknown, Message: reason.Error()}
	var coded *delivery.Error
	var rejected *delivery.Rejected
	switch {
	case errors.As(reason, &coded):
		a.Code = coded.Code
	case errors.As(reason, &rejected):
		a.Code = sitecode.ConfigWrong
		if rejected.Delivered.Typed { // a page of another release
			if err := i.files.Remove(relocation.TypedFile); err != nil {
				return fmt.Errorf("remove what came by the page: %w", err)
			}
		}
	}
	return operation.WriteJSON(i.files, relocation.ArrivalFile, a)
}
