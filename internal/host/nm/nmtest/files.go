package nmtest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Disk is the node's disk, as much of host.Files as the tests need, with what host.Files promises of a power cut: what it
// has written and removed is durable when it returns, and so are the names in the folder.
type Disk struct {
	// AfterWrite, where set, is called when a file has been written.
	AfterWrite func(path string, data []byte)
}

// Read returns the file's contents.
func (d Disk) Read(path string) ([]byte, error) { return os.ReadFile(path) }

// Write replaces the file in one step.
func (d Disk) Write(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp := path + ".tmp~"
	if err := os.WriteFile(tmp, data, mode); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	if err := flushFile(path); err != nil {
		return err
	}
	if d.AfterWrite != nil {
		d.AfterWrite(path, data)
	}
	return nil
}

// Append writes at the end of the file there is.
func (d Disk) Append(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close(), flushFile(path))
}

// Remove deletes a file or tree, and flushes the folder also where there was none.
func (d Disk) Remove(path string) error {
	return errors.Join(os.RemoveAll(path), flushFolder(filepath.Dir(path)))
}

// List names a folder's entries, sorted.
func (d Disk) List(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names, err
}
