// Package ignition writes the Ignition config of one host: the base config of its role
// with the static addresses of its secondary networks as files. What it returns has
// passed Ignition's own validator.
//
// The files exist only after Ignition has fetched its config, so this serves networks
// that Ignition itself does not need.
//
// The host-network controller and kubectl-lca's ipam verb call it. It imports hostnet and
// Ignition's config types, and does no I/O.
package ignition

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/coreos/ignition/v2/config"
	"github.com/coreos/vcontext/report"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/hostnet"
)

// Form is how the host learns its addresses.
type Form string

// The forms.
const (
	Keyfile Form = "keyfile" // NetworkManager profiles, in force from the first boot
	NMState Form = "nmstate" // a document that nmstate.service applies
)

// Where the files go, and how: readable by root alone, since NetworkManager ignores
// profiles that others can read.
const (
	profileDir = "/etc/NetworkManager/system-connections/"
	nmstateDir = "/etc/nmstate/"
	fileMode   = 0o600
)

// version of a config that has no base; every later one can hold what is written here.
const version = "3.2.0"

// Render merges the host's networks into a base config, which may be empty. The base
// keeps its version and everything it says; a file that both would write is refused.
func Render(base []byte, h hostnet.Host, form Form) ([]byte, error) {
	files, err := networkFiles(h, form)
	if err != nil {
		return nil, err
	}
	doc, err := decodeBase(base)
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", h.Name, err)
	}
	if err := addFiles(doc, files); err != nil {
		return nil, fmt.Errorf("host %s: %w", h.Name, err)
	}
	out, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("host %s: encode Ignition config: %w", h.Name, err)
	}
	if err := Validate(out); err != nil {
		return nil, fmt.Errorf("host %s: merged Ignition config: %w", h.Name, err)
	}
	return out, nil
}

// Supported refuses a base config that Render cannot merge addresses into, and says what it is instead of an Ignition config of
// version 3.
func Supported(base []byte) error {
	text := bytes.TrimSpace(base)
	if bytes.HasPrefix(text, []byte("#")) || bytes.HasPrefix(text, []byte("Content-Type:")) || bytes.HasPrefix(text, []byte("MIME-")) {
		return errors.New("userData is a cloud-config or a script, not an Ignition config: addresses cannot be merged into it; " +
			"use networkData for such hosts")
	}
	var doc struct{ Ignition struct{ Version string } }
	if json.Unmarshal(text, &doc) == nil && strings.HasPrefix(doc.Ignition.Version, "2.") {
		return fmt.Errorf("userData is an Ignition config of version %s: addresses can be merged into versions 3.0.0 and later",
			doc.Ignition.Version)
	}
	_, err := decodeBase(base)
	return err
}

// Validate asks Ignition's own parser.
func Validate(raw []byte) error {
	_, r, err := config.Parse(raw)
	if err == nil {
		return nil
	}
	for _, e := range r.Entries {
		if e.Kind == report.Error {
			return fmt.Errorf("refused by Ignition: %s: %w", e.String(), err)
		}
	}
	return fmt.Errorf("refused by Ignition: %w", err)
}

// decodeBase validates the base before anything is added, so that an error in it is not
// blamed on the addresses. Numbers stay as they are written.
func decodeBase(base []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(base)) == 0 {
		return map[string]any{"ignition": map[string]any{"version": version}}, nil
	}
	if err := Validate(base); err != nil {
		return nil, fmt.Errorf("base userData: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(base))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("base userData: decode: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("base userData: something follows the config")
	}
	return doc, nil
}

type file struct{ path, text string }

func networkFiles(h hostnet.Host, form Form) ([]file, error) {
	switch form {
	case Keyfile:
		keyfiles, err := h.Keyfiles()
		var out []file
		for _, k := range keyfiles {
			out = append(out, file{profileDir + k.Name, k.Text})
		}
		return out, err
	case NMState:
		d, err := h.State()
		if err != nil {
			return nil, fmt.Errorf("derive the host's document: %w", err)
		}
		text, err := d.Encode()
		return []file{{nmstateDir + "50-secondary-networks.yml", string(text)}}, err
	}
	return nil, fmt.Errorf("host %s: form %q is none of keyfile, nmstate", h.Name, form)
}

// addFiles appends the files to storage.files.
func addFiles(doc map[string]any, files []file) error {
	storage, _ := doc["storage"].(map[string]any)
	if storage == nil {
		storage = map[string]any{}
	}
	list, _ := storage["files"].([]any)
	there := map[any]bool{}
	for _, f := range list {
		if m, ok := f.(map[string]any); ok {
			there[m["path"]] = true
		}
	}
	for _, f := range files {
		if there[f.path] {
			return fmt.Errorf("base userData writes %s itself", f.path)
		}
		list = append(list, map[string]any{
			"path": f.path, "mode": fileMode, "overwrite": true,
			"contents": map[string]any{"source": "data:;base64," + base64.StdEncoding.EncodeToString([]byte(f.text))},
		})
	}
	storage["files"] = list
	doc["storage"] = storage
	return nil
}
