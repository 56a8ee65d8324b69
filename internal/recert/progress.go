package recert

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// progress is what a run leaves behind when a place that is done cannot be told from one that is not by looking at it: old and new
// addresses overlap (a swap), certificates get another validity, key or name, or their signatures have salt. Then the hashes of what
// will be written, and the certificates (public as they are) that will take the place of others, are recorded first. It is not
// needed, and not written, for any other change.
type progress struct {
	// Config is the hash of the configuration the record belongs to.
	Config string `json:"config"`
	Done   bool   `json:"done"`
	// After maps a location to the hash of its new content.
	After map[string]string `json:"after"`
	// Certificates maps the fingerprint of an old certificate to the DER of the new one, in base64.
	Certificates map[string]string `json:"certificates,omitempty"`
	// Rekeyed maps the public key of an authority, in base64, to the name whose rule replaced it.
	Rekeyed map[string]string `json:"rekeyed,omitempty"`
}

const (
	progressName   = "recert-progress.json"
	memberLocation = "etcd member"
)

func progressPath(configPath string) string { return path.Join(path.Dir(configPath), progressName) }

// settled says that the location has what the interrupted run meant to give it.
func (p progress) settled(location string, content []byte) bool {
	want, ok := p.After[location]
	return ok && want == hashOf(content)
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// certificate is what an interrupted run meant to put in the place of another; nil where it signed none.
func (p progress) certificate(old []byte) (*x509.Certificate, error) {
	text, ok := p.Certificates[fingerprintOf(old)]
	if !ok {
		return nil, nil
	}
	der, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("read the record of an earlier run: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the record of an earlier run: %w", err)
	}
	return cert, nil
}

// loadProgress reads the record of an earlier run with the same configuration; there is usually none. One of a run with another
// configuration that was not completed stops this one: what is done already could not be told from what is not.
func loadProgress(files host.Files, configPath string, config []byte) (progress, error) {
	fresh := progress{Config: hashOf(config)}
	text, err := files.Read(progressPath(configPath))
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return progress{}, fmt.Errorf("read the record of an earlier run: %w", err)
	}
	var p progress
	if err := json.Unmarshal(text, &p); err != nil {
		return progress{}, fmt.Errorf("parse the record of an earlier run: %w", err)
	}
	switch {
	case p.Config == fresh.Config:
		return p, nil
	case p.Done:
		return fresh, nil
	default:
		return progress{}, fmt.Errorf("a run with another configuration was interrupted: let one with that configuration complete it, "+
			"or, if the cluster is as it was before that run, remove %s", progressPath(configPath))
	}
}

func (p progress) save(files host.Files, configPath string) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the record of this run: %w", err)
	}
	if err := files.Write(progressPath(configPath), text, 0o600); err != nil {
		return fmt.Errorf("write the record of this run: %w", err)
	}
	return nil
}

// dropProgress removes the record of an earlier run. The cluster is about to become another than that run left.
func dropProgress(files host.Files, configPath string) error {
	at := progressPath(configPath)
	if _, err := files.Stat(at); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := files.Remove(at); err != nil {
		return fmt.Errorf("remove the record of an earlier run: %w", err)
	}
	return nil
}

// extend adds what a plan is going to write.
func (p progress) extend(plan *Plan) progress {
	after := maps.Clone(p.After)
	if after == nil {
		after = map[string]string{}
	}
	for _, f := range plan.files {
		after[f.path] = hashOf(f.data)
	}
	for _, e := range slices.Concat(plan.first, plan.edits, plan.last) {
		if !e.Delete {
			after[e.Key] = hashOf(e.Value)
		}
	}
	for _, m := range plan.members {
		after[memberLocation] = hashOf([]byte(strings.Join(m.PeerURLs, ",")))
	}
	p.After = after
	if p.Rekeyed == nil {
		p.Rekeyed = plan.rekeyed
	}
	signed := map[string]string{}
	maps.Copy(signed, p.Certificates)
	maps.Copy(signed, plan.signed)
	p.Certificates = signed
	return p
}
