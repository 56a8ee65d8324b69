package volumes

import (
	"bytes"
	"context"
	"io"
	"io/fs"
)

// ReadImage opens an image whatever it says, and reads all its files.
func ReadImage(ctx context.Context, data []byte) (names []string, err error) {
	r := &wholeReader{bytes.NewReader(data)}
	for _, open := range []func(context.Context, io.ReaderAt) (*node, error){readFAT, readExFAT, readISO} {
		root, err := open(ctx, r)
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
	_, _, err = identifyFilesystem(ctx, r)
	return names, err
}

// ReadOne opens an image as a filesystem of one kind, and returns why it is not read.
func ReadOne(ctx context.Context, kind string, data []byte) error {
	open := map[string]func(context.Context, io.ReaderAt) (*node, error){kindFAT: readFAT, kindExFAT: readExFAT, kindISO: readISO}[kind]
	root, err := open(ctx, bytes.NewReader(data))
	if err != nil {
		return err
	}
	t := &tree{root: root, closer: io.NopCloser(nil)}
	return fs.WalkDir(t, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			_, err = fs.ReadFile(t, name)
		}
		return err
	})
}

type wholeReader struct{ *bytes.Reader }
