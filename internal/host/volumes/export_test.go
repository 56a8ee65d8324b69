package volumes

import (
	"bytes"
	"io"
	"io/fs"
)

// ReadImage opens an image whatever it says, and reads all its files.
func ReadImage(data []byte) (names []string, err error) {
	r := &wholeReader{bytes.NewReader(data)}
	for _, open := range []func(io.ReaderAt) (*node, error){readFAT, readExFAT, readISO} {
		root, err := open(r)
		if err != nil {
			continue
		}
		t := &tree{root: root, closer: io.NopCloser(nil)}
		_ = fs.WalkDir(t, ".", func(name string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && len(names) < 64 {
				_, _ = fs.ReadFile(t, name)
				names = append(names, name)
			}
			return nil
		})
	}
	_, _, err = identify(r)
	return names, err
}

type wholeReader struct{ *bytes.Reader }
