package config

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Record is written before a change whose result cannot be told from the data: old and new addresses overlap (a swap), certificates get
// another validity, key or name, or their signatures are salted. It has the hashes of what will be written, and the new certificates,
// which are public.
type Record struct {
	// Config is the hash of the configuration the record belongs to.
	Config string `json:"config"`
	Done   bool   `json:"done"`
	// After maps a location to the hash of its new content.
	After map[string]string `json:"after"`
	// Certificates maps the fingerprint of an old certificate to the DER of the new one, in base64.
	Certificates map[string]string `json:"certificates,omitempty"`
	// Rekeyed maps the public key of an authority, in base64, to the name whose rule replaced it.
	Rekeyed map[string]string `json:"rekeyed,omitempty"`
	// Keys are those of the interrupted run, from a file of their own: see SaveKeys.
	Keys Keys `json:"-"`
}

// MemberLocation is the location of etcd's own member in a record.
const (
	recordName     = "recert-progress.json"
	MemberLocation = "etcd member"
)

// RecordPath is where the record of a configuration is.
func RecordPath(configPath string) string { return path.Join(path.Dir(configPath), recordName) }

// Settled reports whether the location has what the interrupted run was to write.
func (p Record) Settled(location string, content []byte) bool {
	want, ok := p.After[location]
	return ok && want == Hash(content)
}

// Hash is how a record names contents and certificates.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Certificate is what an interrupted run signed to replace another; nil where it signed none.
func (p Record) Certificate(old []byte) (*x509.Certificate, error) {
	text, ok := p.Certificates[Hash(old)]
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

// loadRecord reads the record of an earlier run with the same configuration, if any. An incomplete one of another configuration is an
// error: what that run changed already is not known.
func loadRecord(files host.Files, configPath string, config []byte) (Record, error) {
	fresh := Record{Config: Hash(config)}
	text, err := files.Read(RecordPath(configPath))
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return Record{}, fmt.Errorf("read the record of an earlier run: %w", err)
	}
	var p Record
	if err := json.Unmarshal(text, &p); err != nil {
		return Record{}, fmt.Errorf("parse the record of an earlier run: %w", err)
	}
	switch {
	case p.Config == fresh.Config:
		return p, nil
	case p.Done:
		return fresh, nil
	default:
		return Record{}, fmt.Errorf("a run with another configuration was interrupted: complete it with that configuration, "+
			"or remove %s if the cluster is as it was before that run", RecordPath(configPath))
	}
}

// Save writes the record.
func (p Record) Save(files host.Files, configPath string) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the record of this run: %w", err)
	}
	if err := files.Write(RecordPath(configPath), text, 0o600); err != nil {
		return fmt.Errorf("write the record of this run: %w", err)
	}
	return nil
}

// RemoveRecord removes the record of an earlier run, before a change that it does not describe.
func RemoveRecord(files host.Files, configPath string) error {
	return removeIfThere(files, RecordPath(configPath), "the record of an earlier run")
}

func removeIfThere(files host.Files, at, what string) error {
	if _, err := files.Stat(at); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := files.Remove(at); err != nil {
		return fmt.Errorf("remove %s: %w", what, err)
	}
	return nil
}

// Load reads the configuration and the record of an earlier run.
func Load(files host.Files, configPath string) (Config, Record, error) {
	text, err := files.Read(configPath)
	if err != nil {
		return Config{}, Record{}, fmt.Errorf("read the recert configuration: %w", err)
	}
	cfg, err := Parse(text)
	if err != nil {
		return Config{}, Record{}, err
	}
	record, err := loadRecord(files, configPath, text)
	if err == nil && cfg.NewKeys && !record.Done && len(record.Certificates) > 0 {
		record.Keys, err = loadKeys(files, configPath)
	}
	return cfg, record, err
}
