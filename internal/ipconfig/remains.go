package ipconfig

import (
	"errors"
	"io/fs"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Remains are the stateroots of which a cleanup could not remove every file, with the reason. They have no deployment any more: they
// take room, and nothing else.
type Remains map[string]string

// ReadRemains reads them; none where there is no record.
func ReadRemains(files host.Files) (Remains, error) {
	r := Remains{}
	err := operation.ReadJSON(files, RemainsFile, &r)
	if errors.Is(err, fs.ErrNotExist) {
		return Remains{}, nil
	}
	return r, err
}

// WriteRemains stores them; the file goes with the last.
func WriteRemains(files host.Files, r Remains) error {
	if len(r) == 0 {
		return files.Remove(RemainsFile)
	}
	return operation.WriteJSON(files, RemainsFile, r)
}
