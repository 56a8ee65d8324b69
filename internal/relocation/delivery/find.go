package delivery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// Labels are those of a volume with a configuration, in any case of letters. FAT and exFAT hold 11 characters, so
// that the two longer ones, of older tools, exist on ISO9660 and ext4 only.
func Labels() []string { return []string{"site-config", "cluster-config", "relocation-config"} }

// Directory is a place on the node's own disk.
type Directory struct {
	Path  string
	Files fs.FS
}

// Finder looks for a configuration: on volumes first, because they were brought to this node now, then in the
// directories, in order.
type Finder struct {
	Volumes     host.Volumes
	Directories []Directory
	// Typed is what came by the page, and comes first; nil where there is no page.
	Typed func() (data []byte, found bool, err error)
	// Silent is the place, from 0, of a configuration among those whose network did not answer, in the order in which they came; -1
	// for another one. Beside one of them another volume is newer. nil where none is known.
	Silent func(siteconfig.SiteConfig) int
}

// Delivered is a configuration with the place where it was.
type Delivered struct {
	File
	// Place is a volume or directory, or the page, in words.
	Place string
	// Typed: a person has just asked for it.
	Typed bool
}

// ErrNone says that there is no configuration anywhere.
var ErrNone = errors.New("no site configuration found")

// Error is a failure to read a configuration that is there, with the code for the technician.
type Error struct {
	Code  sitecode.Code
	Place string
	Err   error
}

// Error says what is wrong and where.
func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Place, e.Err) }

// Unwrap is the reason.
func (e *Error) Unwrap() error { return e.Err }

// Find looks once. It fails with ErrNone or an *Error; problems in the configuration are no failure but part of the
// answer.
func (f Finder) Find(ctx context.Context) (Delivered, error) {
	if f.Typed != nil {
		if data, found, err := f.Typed(); err != nil || found {
			return decodeTyped(data), err
		}
	}
	found, err := f.labelledVolumes(ctx)
	if err != nil {
		return Delivered{}, err
	}
	switch len(found) {
	case 0:
		return f.inDirectories()
	case 1:
		return f.onVolume(ctx, found[0])
	}
	return f.chooseVolume(ctx, found)
}

// chooseVolume chooses among several volumes. One is chosen only where those beside it were tried and their networks are silent: a guess
// would set a site up as another.
func (f Finder) chooseVolume(ctx context.Context, found []host.Volume) (Delivered, error) {
	var unknown []host.Volume
	last, lastAt := Delivered{}, -1
	for _, v := range found {
		d, err := f.onVolume(ctx, v)
		at := -1
		if err == nil && len(d.Problems) == 0 && f.Silent != nil {
			at = f.Silent(d.Config)
		}
		switch {
		case at < 0:
			unknown = append(unknown, v)
		case at > lastAt:
			last, lastAt = d, at
		}
	}
	switch {
	case len(unknown) == 0:
		return last, nil
	case len(unknown) == 1 && lastAt >= 0:
		return f.onVolume(ctx, unknown[0])
	}
	places := make([]string, len(found))
	for i, v := range found {
		places[i] = describeVolume(v)
	}
	return Delivered{}, &Error{sitecode.ConfigTwice, strings.Join(places, " and "),
		errors.New("more than one volume holds a site configuration; remove all but one")}
}

func decodeTyped(data []byte) Delivered {
	d := Delivered{File: File{Name: "page", Data: data}, Place: "the page", Typed: true}
	d.Config, d.Problems = siteconfig.Decode(data)
	return d
}

// labelledVolumes lists the volumes with a label of ours, one for each disk: an image that was copied to a stick as it is may
// show on the disk and on its first partition.
func (f Finder) labelledVolumes(ctx context.Context) ([]host.Volume, error) {
	all, err := f.Volumes.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the volumes: %w", err)
	}
	var out []host.Volume
	for _, v := range all {
		ours := slices.Contains(Labels(), strings.ToLower(strings.TrimSpace(v.Label)))
		again := slices.ContainsFunc(out, func(o host.Volume) bool {
			return o.Disk == v.Disk && strings.EqualFold(o.Label, v.Label) && o.Filesystem == v.Filesystem
		})
		if ours && !again {
			out = append(out, v)
		}
	}
	return out, nil
}

// describeVolume names a volume so that a person can tell it from another.
func describeVolume(v host.Volume) string {
	if v.Model == "" {
		return fmt.Sprintf("volume %q on %s", v.Label, v.Device)
	}
	return fmt.Sprintf("volume %q on %s (%s)", v.Label, v.Device, v.Model)
}

func (f Finder) onVolume(ctx context.Context, v host.Volume) (Delivered, error) {
	place := describeVolume(v)
	fail := func(err error) error {
		code := sitecode.ConfigUnreadable
		if errors.Is(err, host.ErrVolumeGone) {
			code, err = sitecode.ConfigLost, fmt.Errorf("it was removed while it was read; plug it in again and leave it (%w)", err)
		}
		return &Error{code, place, err}
	}
	files, err := f.Volumes.Open(ctx, v)
	if err != nil {
		return Delivered{}, fail(err)
	}
	file, err := ReadFolder(files)
	if closeErr := files.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close the volume: %w", closeErr)
	}
	if err != nil {
		return Delivered{}, fail(err)
	}
	return Delivered{File: file, Place: place}, nil
}

func (f Finder) inDirectories() (Delivered, error) {
	for _, d := range f.Directories {
		file, err := ReadFolder(d.Files)
		switch {
		case errors.Is(err, ErrNoFile) || errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return Delivered{}, &Error{sitecode.ConfigUnreadable, d.Path, err}
		default:
			return Delivered{File: file, Place: d.Path}, nil
		}
	}
	return Delivered{}, ErrNone
}

// Await looks until there is a configuration without problems. Each new reason why there is none yet goes to report
// once: ErrNone, an *Error, or a *Rejected. It fails with the context, or where report fails.
func (f Finder) Await(ctx context.Context, report func(error) error) (Delivered, error) {
	last := ""
	for {
		d, err := f.Find(ctx)
		if err == nil && len(d.Problems) > 0 {
			err = &Rejected{d}
		}
		if err == nil {
			return d, nil
		}
		if ctx.Err() != nil {
			return Delivered{}, fmt.Errorf("wait for a site configuration: %w", ctx.Err())
		}
		if err.Error() != last {
			if err := report(err); err != nil {
				return Delivered{}, err
			}
		}
		last = err.Error()
		if err := f.Volumes.Await(ctx); err != nil {
			return Delivered{}, fmt.Errorf("wait for a volume: %w", err)
		}
	}
}

// Rejected is a configuration with problems.
type Rejected struct{ Delivered Delivered }

// Error lists all problems.
func (r *Rejected) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s is refused", r.Delivered.Place, r.Delivered.Name)
	for _, p := range r.Delivered.Problems {
		b.WriteString("; ")
		b.WriteString(p.String())
	}
	return b.String()
}
