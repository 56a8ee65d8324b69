package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strconv"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Content is one file at / of an image.
type Content struct {
	Name string
	Mode int64
	// Write writes the file. It is called twice where the file is large and must write the same bytes each time.
	Write func(ctx context.Context, to io.Writer) error
	// Archive is how much the archive holds that was written; nil for a content that is none.
	Archive func() host.ArchiveSize
}

// Bytes is a content that is in memory.
func Bytes(name string, mode int64, data []byte) Content {
	return Content{Name: name, Mode: mode, Write: func(_ context.Context, to io.Writer) error {
		_, err := to.Write(data)
		return err
	}}
}

// heldLimit is up to which size a content is held in memory between measuring and sending.
const heldLimit = 48 << 20

// measured is a content of known size: a tar entry begins with it.
type measured struct {
	Content
	size    int64
	digest  string
	archive host.ArchiveSize
	// held is the content; nil where it is too large.
	held []byte
}

// measureContent writes the content once, for its size and digest.
func measureContent(ctx context.Context, c Content) (measured, error) {
	m := measured{Content: c}
	g := &gauge{sum: sha256.New()}
	if err := c.Write(ctx, g); err != nil {
		return m, fmt.Errorf("prepare %s: %w", c.Name, err)
	}
	m.size, m.digest = g.n, hexDigest(g.sum)
	if c.Archive != nil {
		m.archive = c.Archive()
	}
	if g.n <= heldLimit {
		m.held = g.held.Bytes()
	}
	return m, nil
}

// gauge measures what is written, and holds it as long as that is little.
type gauge struct {
	n    int64
	sum  hash.Hash
	held bytes.Buffer
}

func (g *gauge) Write(b []byte) (int, error) {
	g.n += int64(len(b))
	if g.n <= heldLimit {
		g.held.Write(b)
	} else {
		g.held = bytes.Buffer{}
	}
	return g.sum.Write(b)
}

func hexDigest(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }

// writeLayer writes the content as a layer: a tar of this one file.
func (m measured) writeLayer(ctx context.Context, to io.Writer) error {
	t := tar.NewWriter(to)
	err := t.WriteHeader(&tar.Header{
		Name: m.Name, Mode: m.Mode, Size: m.size, Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
	})
	if err != nil {
		return fmt.Errorf("write the layer of %s: %w", m.Name, err)
	}
	if m.held != nil {
		_, err = t.Write(m.held)
	} else {
		err = m.Write(ctx, t)
	}
	if err == nil {
		err = t.Close()
	}
	if err != nil {
		return fmt.Errorf("write the layer of %s: %w", m.Name, err)
	}
	return nil
}

// layerAnnotations identify the layer's content.
func (m measured) layerAnnotations() map[string]string {
	out := map[string]string{noteContent: m.Name, noteDigest: m.digest, noteSize: strconv.FormatInt(m.size, 10)}
	if m.Archive != nil {
		out[noteArchive], out[noteFiles] = strconv.FormatInt(m.archive.Bytes, 10), strconv.FormatInt(m.archive.Content, 10)
	}
	return out
}

// findFile finds the one file of a layer of this size.
func findFile(layer io.Reader, name string, size int64) (io.Reader, error) {
	t := tar.NewReader(layer)
	for {
		h, err := t.Next()
		if err != nil {
			return nil, fmt.Errorf("find %s in its layer: %w", name, err)
		}
		if h.Name != name && h.Name != "./"+name {
			continue
		}
		if h.Typeflag != tar.TypeReg || h.Size > size { // a hole may be longer than the layer
			return nil, fmt.Errorf("%s is no file of its layer: type %q with %d bytes", name, h.Typeflag, h.Size)
		}
		return t, nil
	}
}
