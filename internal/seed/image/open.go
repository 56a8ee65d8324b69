package image

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

// Image is a seed image in a registry.
type Image struct {
	Digest string
	Layers []Layer
	Labels map[string]string
	Arch   string
	// Cluster and Node are what the labels say.
	Cluster seed.ClusterInfo
	Node    seed.NodeFacts

	repository host.Repository
}

// configLimit bounds the size of an image's configuration, smallLimit that of a content to read whole.
const (
	configLimit = 4 << 20
	smallLimit  = 64 << 20
)

// layerLimit and contentLimit bound what a layer may be said to have, so that no sum of them overflows.
const (
	layerLimit   = 16 << 40
	contentLimit = 1 << 50
)

// Open reads the description of the image of a tag or digest. An image that is no seed image is an error.
func Open(ctx context.Context, r host.Repository, tagOrDigest string) (*Image, error) {
	m, err := r.Manifest(ctx, tagOrDigest)
	if err != nil {
		return nil, err
	}
	var doc document
	if err := json.Unmarshal(m.Data, &doc); err != nil {
		return nil, fmt.Errorf("decode the manifest %s: %w", tagOrDigest, err)
	}
	digest := digestOf(m.Data)
	if asked, named := strings.CutPrefix(tagOrDigest, sha256Prefix); named && digest != sha256Prefix+asked {
		return nil, fmt.Errorf("the registry sent %s instead of %s: it is not the image that was asked for", digest, tagOrDigest)
	}
	data, err := readBlob(ctx, r, doc.Config, configLimit)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of image %s: %w", tagOrDigest, err)
	}
	var s settings
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("decode the configuration of image %s: %w", tagOrDigest, err)
	}
	out := &Image{Digest: digest, Labels: s.Config.Labels, Arch: s.Architecture, repository: r}
	for _, l := range doc.Layers {
		layer, err := l.toLayer()
		if err != nil {
			return nil, err
		}
		out.Layers = append(out.Layers, layer)
	}
	return out, out.readLabels()
}

// readBlob reads a blob that is held in memory.
func readBlob(ctx context.Context, r host.Repository, d descriptor, limit int64) ([]byte, error) {
	if d.Size > limit {
		return nil, fmt.Errorf("blob %s has %d bytes, of which at most %d are read", d.Digest, d.Size, limit)
	}
	body, err := r.Get(ctx, d.Digest, d.Size)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// toLayer is what a descriptor says of its layer.
func (d descriptor) toLayer() (Layer, error) {
	l := Layer{Content: d.Annotations[noteContent], File: strings.TrimPrefix(d.Annotations[noteDigest], sha256Prefix), descriptor: d}
	if d.Size < 0 || d.Size > layerLimit {
		return l, fmt.Errorf("layer %s of the image has %d bytes: that is no size", d.Digest, d.Size)
	}
	for note, into := range map[string]*int64{noteArchive: &l.Archive.Bytes, noteFiles: &l.Archive.Content} {
		text, declared := d.Annotations[note]
		if !declared {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > contentLimit {
			return l, fmt.Errorf("layer %s of the image has the annotation %s: %q, which is no size", d.Digest, note, text)
		}
		*into = n
	}
	return l, nil
}

func (i *Image) readLabels() error {
	if have := i.Labels[LabelFormat]; have != FormatVersion {
		return fmt.Errorf("this is no seed image of format %s: its label %s is %q", FormatVersion, LabelFormat, have)
	}
	if err := json.Unmarshal([]byte(i.Labels[LabelCluster]), &i.Cluster); err != nil {
		return fmt.Errorf("decode the label %s: %w", LabelCluster, err)
	}
	if text := i.Labels[LabelNode]; text != "" {
		if err := json.Unmarshal([]byte(text), &i.Node); err != nil {
			return fmt.Errorf("decode the label %s: %w", LabelNode, err)
		}
	}
	return nil
}

// Find finds the layer of a content.
func (i *Image) Find(content string) (Layer, error) {
	for _, l := range i.Layers {
		if l.Content == content {
			return l, nil
		}
	}
	return Layer{}, fmt.Errorf("the image has no layer for %s: it was made by another program, or is damaged", content)
}

// Read has fn read a content. The digest of its layer is proved before Read returns without an error.
func (i *Image) Read(ctx context.Context, content string, fn func(io.Reader) error) error {
	l, err := i.Find(content)
	if err != nil {
		return err
	}
	body, err := i.repository.Get(ctx, l.Digest, l.Size)
	if err != nil {
		return fmt.Errorf("read %s: %w", content, err)
	}
	defer body.Close()
	f, err := findFile(body, content, l.Size)
	if err != nil {
		return err
	}
	if err := fn(f); err != nil {
		return fmt.Errorf("read %s: %w", content, err)
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return fmt.Errorf("read %s: %w", content, err)
	}
	return nil
}

// Small reads a small content whole.
func (i *Image) Small(ctx context.Context, content string) (data []byte, err error) {
	l, err := i.Find(content)
	if err != nil {
		return nil, err
	}
	if l.Size > smallLimit {
		return nil, fmt.Errorf("read %s: its layer has %d bytes, of which at most %d are read", content, l.Size, smallLimit)
	}
	err = i.Read(ctx, content, func(r io.Reader) error {
		data, err = io.ReadAll(r)
		return err
	})
	return data, err
}
