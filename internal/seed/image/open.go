package image

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	body, err := r.Get(ctx, doc.Config.Digest)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, configLimit))
	if err != nil {
		return nil, err
	}
	var s settings
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("decode the configuration of image %s: %w", tagOrDigest, err)
	}
	out := &Image{Digest: m.Digest, Labels: s.Config.Labels, Arch: s.Architecture, repository: r}
	for _, l := range doc.Layers {
		out.Layers = append(out.Layers, Layer{
			Content: l.Annotations[noteContent], File: strings.TrimPrefix(l.Annotations[noteDigest], "sha256:"), descriptor: l,
		})
	}
	return out, out.readLabels()
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
	body, err := i.repository.Get(ctx, l.Digest)
	if err != nil {
		return fmt.Errorf("read %s: %w", content, err)
	}
	defer body.Close()
	f, err := file(body, content)
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
	err = i.Read(ctx, content, func(r io.Reader) error {
		data, err = io.ReadAll(io.LimitReader(r, smallLimit))
		return err
	})
	return data, err
}
