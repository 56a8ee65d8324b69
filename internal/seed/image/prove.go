package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// required are the contents without which an image cannot be restored.
var required = []string{Containers, Manifest, Var, Etc, EtcDeletions, Repo, RPMOSTree, Sums}

// Prove reads the whole image. Problems are contents that are missing or differ from their checksum; a registry that
// cannot be read is an error.
func (i *Image) Prove(ctx context.Context) (problems []string, read int64, err error) {
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
		sum := sha256.New()
		err := i.Read(ctx, l.Content, func(r io.Reader) error {
			_, err := io.Copy(sum, r)
			return err
		})
		read += l.Size
		switch have := hex.EncodeToString(sum.Sum(nil)); {
		case errors.Is(err, host.ErrRegistryAway), errors.Is(err, host.ErrRegistryDenied), errors.Is(err, context.Canceled):
			return problems, read, err
		case err != nil:
			problems = append(problems, err.Error())
		case l.Content != Sums && want[l.Content] != have:
			problems = append(problems, fmt.Sprintf("%s is not as %s says", l.Content, Sums))
		}
	}
	return problems, read, nil
}
