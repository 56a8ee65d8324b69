package image

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Labels of an image.
const (
	LabelFormat  = "com.openshift.lifecycle-agent.seed_format_version"
	LabelCluster = "com.openshift.lifecycle-agent.seed_cluster_info"
	// LabelNode has the facts of the seed's machine, for a target to compare.
	LabelNode = "com.openshift.lifecycle-agent.seed_node_facts"
	// FormatVersion is the value of LabelFormat.
	FormatVersion = "4"
)

// Contents, as files at / of the image.
const (
	CLI           = "lca-cli"
	Containers    = "containers.list"
	Manifest      = "manifest.json"
	Var           = "var.tgz"
	Etc           = "etc.tgz"
	EtcDeletions  = "etc.deletions"
	Repo          = "ostree.tgz"
	RPMOSTree     = "rpm-ostree.json"
	MachineConfig = "mco-currentconfig.json"
	originPrefix  = "ostree-"
	originSuffix  = ".origin"
	// Sums has the SHA-256 of every other content and of every file below /var and /etc, as sha256sum writes it.
	Sums = "seed-sha256sums"
	// Node is LabelNode as a file.
	Node = "seed-node-facts.json"
	// Secrets says which secrets were found, and what became of each; never a value.
	Secrets = "seed-secrets.json"
)

// Origin names the content that is a deployment's origin file; id is CHECKSUM.SERIAL.
func Origin(id string) string { return originPrefix + id + originSuffix }

// IsOrigin says that a content is a deployment's origin file.
func IsOrigin(content string) bool {
	return strings.HasPrefix(content, originPrefix) && strings.HasSuffix(content, originSuffix)
}

// Media types (https://github.com/opencontainers/image-spec/blob/main/media-types.md).
const (
	mediaManifest = "application/vnd.oci.image.manifest.v1+json"
	mediaConfig   = "application/vnd.oci.image.config.v1+json"
	mediaLayer    = "application/vnd.oci.image.layer.v1.tar"
)

// Annotations of a layer: what it holds, so that it is found without reading it, and the digest and size of the content
// alone, by which an unchanged one is recognised.
const (
	noteContent = "com.openshift.lifecycle-agent.seed_content"
	noteDigest  = "com.openshift.lifecycle-agent.seed_content_digest"
	noteSize    = "com.openshift.lifecycle-agent.seed_content_size"
	// Of an archive: its size before compression, and that of its files with their holes.
	noteArchive = "com.openshift.lifecycle-agent.seed_archive_size"
	noteFiles   = "com.openshift.lifecycle-agent.seed_archive_files_size"
)

// descriptor names a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// document is an image's manifest.
type document struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// settings is an image's configuration. It has no time: the same contents make the same image.
type settings struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Config       struct {
		Labels map[string]string `json:"Labels"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

func encodeJSON(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode the image's description: %w", err)
	}
	return data, nil
}
