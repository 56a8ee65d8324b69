package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Layer is a layer that Publish made sure of.
type Layer struct {
	Content string
	// File is the SHA-256 of the content itself, in hexadecimal.
	File string
	// Archive is what is declared of an archive; an image of an earlier version declares nothing.
	Archive host.ArchiveSize
	descriptor
	Reused bool
}

// Publisher publishes one image.
type Publisher struct {
	Repository host.Repository
	// Tag to publish as. Known are tags or digests of earlier images in the repository; layers of them are not sent again.
	Tag   string
	Known []string
	// Announce is told the digest of the image before the tag gets it; nil tells nobody.
	Announce func(digest string) error

	// TagUnread: the registry did not let the tag be read before it was written. The first Add sets it.
	TagUnread bool

	known  map[string]descriptor
	layers []Layer
}

// Published is the result.
type Published struct {
	Digest string
	Layers []Layer
	// Size is of all layers, Sent of those that were sent.
	Size, Sent int64
}

// Add sends a content as the next layer, unless the registry has it.
func (p *Publisher) Add(ctx context.Context, c Content) error {
	if p.known == nil {
		if err := p.readKnownLayers(ctx); err != nil {
			return err
		}
	}
	m, err := measureContent(ctx, c)
	if err != nil {
		return err
	}
	d, reused := p.known[c.Name+" "+m.digest]
	if reused {
		reused, err = p.Repository.Has(ctx, d.Digest)
		if err != nil && !errors.Is(err, host.ErrRegistryDenied) {
			return fmt.Errorf("publish %s: %w", c.Name, err)
		}
	}
	d.Annotations = m.layerAnnotations()
	if !reused {
		if d, err = p.sendLayer(ctx, m); err != nil {
			return fmt.Errorf("publish %s: %w", c.Name, err)
		}
	}
	p.layers = append(p.layers, Layer{Content: c.Name, File: strings.TrimPrefix(m.digest, "sha256:"), Archive: m.archive,
		descriptor: d, Reused: reused})
	return nil
}

func (p *Publisher) sendLayer(ctx context.Context, m measured) (descriptor, error) {
	digest, size, err := p.Repository.Put(ctx, m.writeLayer)
	return descriptor{MediaType: mediaLayer, Digest: digest, Size: size, Annotations: m.layerAnnotations()}, err
}

// readKnownLayers reads which layers earlier images have. One that is not there, may not be read or is no seed image teaches nothing.
func (p *Publisher) readKnownLayers(ctx context.Context) error {
	p.known = map[string]descriptor{}
	for _, name := range append([]string{p.Tag}, p.Known...) {
		m, err := p.Repository.Manifest(ctx, name)
		if errors.Is(err, host.ErrNoImage) {
			continue
		}
		if errors.Is(err, host.ErrRegistryDenied) {
			p.TagUnread = p.TagUnread || name == p.Tag
			continue
		}
		if err != nil {
			return fmt.Errorf("look for an earlier image: %w", err)
		}
		var doc document
		if json.Unmarshal(m.Data, &doc) != nil {
			continue
		}
		for _, l := range doc.Layers {
			if l.MediaType == mediaLayer && l.Annotations[noteDigest] != "" {
				p.known[l.Annotations[noteContent]+" "+l.Annotations[noteDigest]] = l
			}
		}
	}
	return nil
}

// Finish publishes the image of the layers that were added. Only with this is it there under its tag.
func (p *Publisher) Finish(ctx context.Context, arch string, labels map[string]string) (Published, error) {
	out := Published{Layers: p.layers}
	doc := document{SchemaVersion: 2, MediaType: mediaManifest}
	var s settings
	s.Architecture, s.OS, s.Config.Labels, s.RootFS.Type = arch, "linux", labels, "layers"
	for _, l := range p.layers {
		doc.Layers = append(doc.Layers, l.descriptor)
		s.RootFS.DiffIDs = append(s.RootFS.DiffIDs, l.Digest)
		out.Size += l.Size
		if !l.Reused {
			out.Sent += l.Size
		}
	}
	var err error
	if doc.Config, err = putJSON(ctx, p.Repository, mediaConfig, s); err != nil {
		return out, err
	}
	data, err := encodeJSON(doc)
	if err != nil {
		return out, err
	}
	if err := p.confirmLayers(ctx); err != nil {
		return out, err
	}
	if p.Announce != nil {
		if err := p.Announce(digestOf(data)); err != nil {
			return out, err
		}
	}
	if out.Digest, err = p.Repository.PutManifest(ctx, p.Tag, mediaManifest, data); err != nil {
		return out, err
	}
	back, err := p.Repository.Manifest(ctx, p.Tag)
	if errors.Is(err, host.ErrRegistryDenied) {
		return out, nil // the registry has acknowledged it
	}
	if err == nil && back.Digest != out.Digest {
		err = fmt.Errorf("the registry has %s under the tag %s, not %s: another program published to it meanwhile",
			back.Digest, p.Tag, out.Digest)
	}
	return out, err
}

// confirmLayers asks the registry for every layer: not every one refuses a manifest whose blobs it does not have.
func (p *Publisher) confirmLayers(ctx context.Context) error {
	for _, l := range p.layers {
		there, err := p.Repository.Has(ctx, l.Digest)
		if errors.Is(err, host.ErrRegistryDenied) {
			return nil // the registry has acknowledged them
		}
		if err != nil {
			return err
		}
		if !there {
			return fmt.Errorf("the registry has lost %s, blob %s, that it acknowledged: publish again", l.Content, l.Digest)
		}
	}
	return nil
}

func putJSON(ctx context.Context, r host.Repository, mediaType string, v any) (descriptor, error) {
	data, err := encodeJSON(v)
	if err != nil {
		return descriptor{}, err
	}
	digest, size, err := r.Put(ctx, func(_ context.Context, to io.Writer) error {
		_, err := io.Copy(to, bytes.NewReader(data))
		return err
	})
	return descriptor{MediaType: mediaType, Digest: digest, Size: size}, err
}

// Layers are those that were added so far.
func (p *Publisher) Layers() []Layer { return p.layers }

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return sha256Prefix + hex.EncodeToString(sum[:])
}

const sha256Prefix = "sha256:"
