// Package machineconfig renders MachineConfigs of network policies: one that carries a policy's document to the nodes of a pool, and
// one that makes all NetworkManager profiles which are written on a node ephemeral. It is pure.
//
// Called by internal/controller/netmachineconfig, by internal/controller/netpolicy, which asks whether a node has a document, and by
// kubectl lca network machineconfig. It must not import a client of Kubernetes, a controller or the host.
package machineconfig

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	ignition "github.com/coreos/ignition/v2/config/v3_2/types"
	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/vincent-petithory/dataurl"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

const (
	// RoleLabel of a MachineConfig names the role whose pools take it up.
	RoleLabel = "machineconfiguration.openshift.io/role"
	// VersionAnnotation names the program that generated a MachineConfig.
	VersionAnnotation = "machineconfiguration.openshift.io/generated-by-controller-version"
	// Folder holds the documents on a node. The machine-config daemon lets files below /etc/nmstate/openshift change without a drain or
	// a reboot. In this folder they are not read at boot: nmstate-configuration.service looks for cluster.yml and HOST.yml beside it,
	// and takes br-ex down for them.
	Folder = "/etc/nmstate/openshift/policies"
	// DisruptionPath is the folder for which NodeDisruptionPolicy speaks.
	DisruptionPath = "/etc/nmstate/openshift"
)

// maxDocument bounds a packed document in bytes.
const maxDocument = 8 << 20

// ignitionVersion is one that every machine config operator since OpenShift 4.8 reads.
const ignitionVersion = "3.2.0"

// Name of the MachineConfig of a policy for a pool. It is made of both names, not numbered, so that it is the same whenever it is made.
func Name(pool, policy string) string { return "99-" + pool + "-generated-network-" + policy }

// Path of a policy's document on a node.
func Path(policy string) string { return Folder + "/" + policy + ".yml" }

// Document renders the MachineConfig that carries a policy's document, given as JSON, to the nodes of a pool.
func Document(pool, policy string, document []byte) (*mcv1.MachineConfig, error) {
	text, err := Text(document)
	if err != nil {
		return nil, err
	}
	return renderConfig(
		Name(pool, policy),
		pool,
		ignition.Config{Storage: ignition.Storage{Files: []ignition.File{embeddedFile(Path(policy), text, 0o600)}}},
	)
}

// Text is a document, given as JSON, as it is written on a node: YAML with sorted keys, so that the same document is the same text.
func Text(document []byte) (string, error) {
	if len(document) == 0 {
		document = []byte("{}")
	}
	text, err := yaml.JSONToYAML(document)
	if err != nil {
		return "", fmt.Errorf("format the document: %w", err)
	}
	return string(text), nil
}

// Carries reports whether a MachineConfig, also a rendered one, has a policy's document, given as JSON.
func Carries(config []byte, policy string, document []byte) (bool, error) {
	text, err := Text(document)
	if err != nil {
		return false, err
	}
	all, err := Documents(config)
	if err != nil {
		return false, err
	}
	have, found := all[Path(policy)]
	return found && have == text, nil
}

// Documents are the network documents in an Ignition config, by their path on a node: those of policies, and those that nmstate's own
// service reads at boot.
func Documents(config []byte) (map[string]string, error) {
	var c ignition.Config
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, fmt.Errorf("read the Ignition config: %w", err)
	}
	all := map[string]string{}
	for _, f := range c.Storage.Files {
		if !strings.HasPrefix(f.Path, DisruptionPath+"/") || f.Contents.Source == nil {
			continue
		}
		text, err := decodeContents(f.Contents)
		if err != nil {
			return nil, fmt.Errorf("read file %s of the Ignition config: %w", f.Path, err)
		}
		all[f.Path] = text
	}
	return all, nil
}

func decodeContents(r ignition.Resource) (string, error) {
	data, err := dataurl.DecodeString(*r.Source)
	if err != nil {
		return "", fmt.Errorf("decode the data URL: %w", err)
	}
	if r.Compression == nil || *r.Compression == "" {
		return string(data.Data), nil
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(data.Data))
	if err != nil {
		return "", fmt.Errorf("decompress the content: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(unpacked, maxDocument+1))
	if err == nil && len(text) > maxDocument {
		err = fmt.Errorf("it has more than %d bytes", maxDocument)
	}
	return string(text), err
}

func renderConfig(name, role string, config ignition.Config) (*mcv1.MachineConfig, error) {
	config.Ignition.Version = ignitionVersion
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("format the Ignition config of %s: %w", name, err)
	}
	return &mcv1.MachineConfig{
		TypeMeta:   metav1.TypeMeta{APIVersion: mcv1.GroupVersion.String(), Kind: "MachineConfig"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{RoleLabel: role}},
		Spec:       mcv1.MachineConfigSpec{Config: runtime.RawExtension{Raw: raw}},
	}, nil
}

func embeddedFile(path, text string, mode int) ignition.File {
	source, overwrite := dataurl.EncodeBytes([]byte(text)), true
	return ignition.File{
		Node:          ignition.Node{Path: path, Overwrite: &overwrite},
		FileEmbedded1: ignition.FileEmbedded1{Contents: ignition.Resource{Source: &source}, Mode: &mode},
	}
}
