package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// required are the contents without which an image cannot be restored.
var required = []string{Containers, Manifest, Var, Etc, EtcDeletions, Repo, RPMOSTree, Sums}

// trees are the archives.
var trees = []string{Repo, Var, Etc}

// Prove reads the whole image, its archives as a restore reads them. Problems are contents that are missing, differ from
// their checksum or cannot be unpacked; a registry that cannot be read is an error.
func (i *Image) Prove(ctx context.Context, archives host.Archives) (problems []string, read int64, err error) {
	for _, name := range required {
		if _, err := i.Find(name); err != nil {
			problems = append(problems, name+" is missing")
		}
	}
	want := map[string]string{}
	if text, err := i.Small(ctx, Sums); err == nil {
		if want, err = ParseSums(text); err != nil {
			problems = append(problems, err.Error())
		}
	}
	for _, l := range i.Layers {
		have, wrong, err := i.proveLayer(ctx, archives, l, want)
		read += l.Size
		switch {
		case errors.Is(err, host.ErrRegistryAway), errors.Is(err, host.ErrRegistryDenied), errors.Is(err, context.Canceled):
			return problems, read, err
		case err != nil:
			problems = append(problems, err.Error())
		case l.Content != Sums && want[l.Content] != have:
			problems = append(problems, fmt.Sprintf("%s is not as %s says", l.Content, Sums))
		case len(wrong) > 0:
			problems = append(problems, Differing(l.Content, wrong))
		}
	}
	return problems, read, nil
}

// proveLayer reads one content. wrong are the files of an archive that differ from their checksum.
func (i *Image) proveLayer(
	ctx context.Context, archives host.Archives, l Layer, want map[string]string,
) (have string, wrong []string, err error) {
	sum := sha256.New()
	err = i.Read(ctx, l.Content, func(r io.Reader) error {
		r = io.TeeReader(r, sum)
		if slices.Contains(trees, l.Content) {
			reading := host.ArchiveReading{Size: l.Archive}
			if l.Content != Repo { // ostree has checksums of its own
				reading.Sum = CompareSums(want, &wrong)
			}
			if err := archives.Verify(ctx, r, reading); err != nil {
				return err
			}
		}
		_, err := io.Copy(io.Discard, r)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), wrong, err
}

// CompareSums returns what notes the files that differ from a list of checksums.
func CompareSums(want map[string]string, wrong *[]string) func(name string, have [32]byte) {
	return func(name string, have [32]byte) {
		if want[name] != hex.EncodeToString(have[:]) {
			*wrong = append(*wrong, name)
		}
	}
}

// Differing says which files differ.
func Differing(content string, wrong []string) string {
	return fmt.Sprintf("%d files of %s are not as %s says, the first is %q", len(wrong), content, Sums, wrong[0])
}
