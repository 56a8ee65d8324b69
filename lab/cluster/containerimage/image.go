// Package containerimage makes container images of static programs without a registry or a builder.
//
// It is called by lab/cluster and its rooms, and by scenarios that run the product's image. Like all of lab/cluster it imports
// nothing of the product.
package containerimage

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// The lab pulls nothing, so one image made here answers to every name that a pod of the lab asks for. The static pods
// name theirs by a digest, as OpenShift does; the runtime believes the name.
const (
	Etcd      = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:1111111111111111111111111111111111111111111111111111111111111111"
	APIServer = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:2222222222222222222222222222222222222222222222222222222222222222"
	Pause     = "localhost/lab/pause:1"
)

// ControlPlane is the image of the static pods and of every pod's sandbox.
func ControlPlane(binDir string) Image {
	return Image{
		Names: []string{Etcd, APIServer, Pause},
		Files: map[string]string{
			"usr/bin/etcd":               filepath.Join(binDir, "etcd"),
			"usr/bin/kube-apiserver":     filepath.Join(binDir, "apiserver-entrypoint"),
			"usr/libexec/kube-apiserver": filepath.Join(binDir, "kube-apiserver"),
			"usr/bin/pause":              filepath.Join(binDir, "pause"),
		},
		Entrypoint: []string{"/usr/bin/pause"},
	}
}

// Image is a container image of static programs, made without a registry or a builder.
type Image struct {
	Names      []string          // by which pods ask for it
	Files      map[string]string // path in the image, without the leading slash -> program of the host
	Entrypoint []string
	User       string // root when empty
}

const (
	mediaIndex    = "application/vnd.oci.image.index.v1+json"
	mediaManifest = "application/vnd.oci.image.manifest.v1+json"
	mediaConfig   = "application/vnd.oci.image.config.v1+json"
	mediaLayer    = "application/vnd.oci.image.layer.v1.tar"
)

// descriptor points to a blob (OCI image specification, descriptor.md).
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Write makes the file an archived OCI image layout, which "ctr images import" reads.
func (i Image) Write(file string) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the directory of image %s: %w", i.Names[0], err)
	}
	layer, err := os.CreateTemp(filepath.Dir(file), "layer-")
	if err != nil {
		return fmt.Errorf("make a layer of image %s: %w", i.Names[0], err)
	}
	defer func() { err = errors.Join(err, layer.Close(), os.Remove(layer.Name())) }()
	described, err := i.writeLayer(layer)
	if err != nil {
		return fmt.Errorf("make a layer of image %s: %w", i.Names[0], err)
	}
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write image %s: %w", i.Names[0], err)
	}
	archive := tar.NewWriter(out)
	err = i.writeLayout(archive, layer, described)
	return errors.Join(err, archive.Close(), out.Close())
}

// writeLayer writes the image's only layer and rewinds it. Times stay zero, so that equal programs make an equal image.
func (i Image) writeLayer(layer *os.File) (descriptor, error) {
	hash := sha256.New()
	archive := tar.NewWriter(io.MultiWriter(layer, hash))
	for _, dir := range []string{"usr/", "usr/bin/", "usr/libexec/", "usr/local/", "usr/local/bin/",
		"tmp/", "run/", "etc/", "var/", "var/lib/", "proc/", "sys/", "dev/"} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755}); err != nil {
			return descriptor{}, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(i.Files)) {
		if err := addProgram(archive, name, i.Files[name]); err != nil {
			return descriptor{}, fmt.Errorf("add %s: %w", name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return descriptor{}, err
	}
	size, err := layer.Seek(0, io.SeekCurrent)
	if err != nil {
		return descriptor{}, err
	}
	_, err = layer.Seek(0, io.SeekStart)
	return descriptor{MediaType: mediaLayer, Digest: "sha256:" + hex.EncodeToString(hash.Sum(nil)), Size: size}, err
}

func addProgram(archive *tar.Writer, name, file string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(archive, in)
	return err
}

// writeLayout writes the blobs and an index with one entry for each name (OCI image specification, image-layout.md; the
// annotation is containerd's).
func (i Image) writeLayout(archive *tar.Writer, layer io.Reader, described descriptor) error {
	if err := addFile(archive, blobPath(described), described.Size, layer); err != nil {
		return err
	}
	config, err := addBlob(archive, mediaConfig, map[string]any{
		"architecture": "amd64", "os": "linux",
		"config": map[string]any{"Entrypoint": i.Entrypoint, "User": i.User, "Env": []string{"PATH=/usr/local/bin:/usr/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{described.Digest}},
	})
	if err != nil {
		return err
	}
	manifest, err := addBlob(archive, mediaManifest, map[string]any{
		"schemaVersion": 2, "mediaType": mediaManifest, "config": config, "layers": []descriptor{described},
	})
	if err != nil {
		return err
	}
	entries := make([]descriptor, 0, len(i.Names))
	for _, name := range i.Names {
		entry := manifest
		entry.Annotations = map[string]string{"io.containerd.image.name": name}
		entries = append(entries, entry)
	}
	if err := addJSON(archive, "index.json", map[string]any{"schemaVersion": 2, "mediaType": mediaIndex, "manifests": entries}); err != nil {
		return err
	}
	return addJSON(archive, "oci-layout", map[string]any{"imageLayoutVersion": "1.0.0"})
}

func addBlob(archive *tar.Writer, mediaType string, content any) (descriptor, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return descriptor{}, err
	}
	d := descriptor{MediaType: mediaType, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(text)), Size: int64(len(text))}
	return d, addFile(archive, blobPath(d), d.Size, bytes.NewReader(text))
}

func addJSON(archive *tar.Writer, name string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return addFile(archive, name, int64(len(text)), bytes.NewReader(text))
}

func addFile(archive *tar.Writer, name string, size int64, content io.Reader) error {
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: size}); err != nil {
		return err
	}
	_, err := io.Copy(archive, content)
	return err
}

func blobPath(d descriptor) string {
	return path.Join("blobs", "sha256", d.Digest[len("sha256:"):])
}
