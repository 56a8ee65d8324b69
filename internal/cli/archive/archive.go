// Package archive writes what explains a trouble into one file, without secrets. "lca-cli must-gather" fills an archive on the node,
// "kubectl lca must-gather" over the API. It must not import anything of the product.
package archive

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// Limits of an archive: a node in trouble has little room, and a person reads less.
const (
	maxFile    = 4 << 20
	maxArchive = 64 << 20
)

// Index is the file of an archive that lists the others, and what could not be read.
const Index = "index.txt"

// Archive is a gzipped tar under construction.
type Archive struct {
	out    *gzip.Writer
	tar    *tar.Writer
	root   string
	at     time.Time
	redact func([]byte) []byte

	left  int
	index strings.Builder
}

// New starts an archive whose files lie in the folder root. Everything that is added goes through redact.
func New(to io.Writer, root string, at time.Time, redact func([]byte) []byte) *Archive {
	zip := gzip.NewWriter(to)
	return &Archive{out: zip, tar: tar.NewWriter(zip), root: root, at: at, redact: redact, left: maxArchive}
}

// Add adds a file, or notes why there is none. What does not exist is left out without a note. The error is the archive's own.
func (a *Archive) Add(name string, data []byte, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0:
		return nil
	case err != nil:
		fmt.Fprintf(&a.index, "missing  %s: %s\n", name, a.redact([]byte(err.Error())))
		return nil //nolint:nilerr // it is in the index
	}
	data = a.redact(data)
	if over := len(data) - min(maxFile, a.left); over > 0 { // the end tells more than the beginning
		fmt.Fprintf(&a.index, "cut      %s: the first %d bytes are left out\n", name, over)
		data = data[over:]
	}
	a.left -= len(data)
	fmt.Fprintf(&a.index, "file     %s (%d bytes)\n", name, len(data))
	return a.writeEntry(name, data)
}

func (a *Archive) writeEntry(name string, data []byte) error {
	header := &tar.Header{Name: path.Join(a.root, name), Mode: 0o600, Size: int64(len(data)), ModTime: a.at, Format: tar.FormatPAX}
	if err := a.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("add %s to the archive: %w", name, err)
	}
	if _, err := a.tar.Write(data); err != nil {
		return fmt.Errorf("add %s to the archive: %w", name, err)
	}
	return nil
}

// Close writes the index and ends the archive.
func (a *Archive) Close() error {
	if err := a.writeEntry(Index, []byte(a.index.String())); err != nil {
		return err
	}
	if err := errors.Join(a.tar.Close(), a.out.Close()); err != nil {
		return fmt.Errorf("end the archive: %w", err)
	}
	return nil
}

// Save writes a new file that only its owner may read, and leaves none where write fails.
func Save(file string, write func(io.Writer) error) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("create the archive: %w", err)
	}
	err = write(f)
	if closeErr := f.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("write the archive %s: %w", file, closeErr)
	}
	if err != nil {
		_ = os.Remove(file) // the error that matters is reported
	}
	return err
}
