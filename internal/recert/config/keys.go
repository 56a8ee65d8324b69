package config

import (
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Keys are new keys, by the subjectPublicKeyInfo of those whose place they take.
type Keys map[string]crypto.Signer

// keysName is a file that exists only while a run with new_keys is under way: after an interruption the next run has to use the same
// keys, and those that it has not written yet are nowhere else. Only root reads it, and it is removed with the end of the run.
const keysName = "recert-new-keys.json"

func keysPath(configPath string) string { return path.Join(path.Dir(configPath), keysName) }

// SaveKeys writes new keys before any is used; it writes no file if there are none.
func SaveKeys(files host.Files, configPath string, keys Keys) error {
	if len(keys) == 0 {
		return nil
	}
	stored := map[string]string{}
	for old, key := range keys {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return fmt.Errorf("encode a new key: %w", err)
		}
		stored[encodeBase64(old)] = encodeBase64(string(der))
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return fmt.Errorf("encode the new keys: %w", err)
	}
	if err := files.Write(keysPath(configPath), text, 0o600); err != nil {
		return fmt.Errorf("store the new keys of this run: %w", err)
	}
	return nil
}

// RemoveKeys removes the file of SaveKeys.
func RemoveKeys(files host.Files, configPath string) error {
	return removeIfThere(files, keysPath(configPath), "the new keys of this run")
}

// errKeys has no cause: one could quote a key.
var errKeys = errors.New("read the new keys of an interrupted run: the file is damaged")

func loadKeys(files host.Files, configPath string) (Keys, error) {
	text, err := files.Read(keysPath(configPath))
	if err != nil {
		return nil, fmt.Errorf("read the new keys of an interrupted run: %w", err)
	}
	var stored map[string]string
	if json.Unmarshal(text, &stored) != nil {
		return nil, errKeys
	}
	keys := Keys{}
	for old, fresh := range stored {
		info, errOld := base64.StdEncoding.DecodeString(old)
		der, errNew := base64.StdEncoding.DecodeString(fresh)
		parsed, err := x509.ParsePKCS8PrivateKey(der)
		key, ok := parsed.(crypto.Signer)
		if errOld != nil || errNew != nil || err != nil || !ok {
			return nil, errKeys
		}
		keys[string(info)] = key
	}
	return keys, nil
}

func encodeBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
