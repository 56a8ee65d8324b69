package recert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// sshRSABits is what ssh-keygen makes today.
const sshRSABits = 3072

// planServerKeys makes the SSH host keys of the configured folder anew, each of the kind it is.
func (s *scan) planServerKeys(files host.Files, rand io.Reader) error {
	dir := s.cfg.ServerSSHKeys
	if dir == "" {
		return nil
	}
	entries, err := files.List(dir)
	if err != nil {
		return fmt.Errorf("list the SSH host keys in %s: %w", dir, err)
	}
	found := false
	for _, name := range entries {
		kind, ok := strings.CutPrefix(strings.TrimSuffix(name, "_key"), "ssh_host_")
		if !ok || !strings.HasSuffix(name, "_key") {
			continue
		}
		found = true
		if err := s.planServerKey(files, path.Join(dir, name), kind, rand); err != nil {
			return fmt.Errorf("make SSH host key %s: %w", name, err)
		}
	}
	if !found {
		s.plan.Blocked = append(s.plan.Blocked, Note{dir, "regenerate_server_ssh_keys: there are no SSH host keys"})
	}
	return nil
}

func (s *scan) planServerKey(files host.Files, at, kind string, rand io.Reader) error {
	key, err := newServerKey(kind, rand)
	if err != nil {
		return err
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return err
	}
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return err
	}
	texts := map[string][]byte{at: pem.EncodeToMemory(block), at + ".pub": ssh.MarshalAuthorizedKey(public)}
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		text := texts[file]
		info, err := files.Stat(file)
		if errors.Is(err, fs.ErrNotExist) && file != at {
			continue
		}
		if err != nil {
			return err
		}
		s.plan.files = append(s.plan.files, fileWrite{file, text, info.Mode().Perm()})
		s.plan.Changes = append(s.plan.Changes, Change{Rewrite, file, "SSH host key of this node alone"})
	}
	return nil
}

func newServerKey(kind string, rand io.Reader) (crypto.Signer, error) {
	switch kind {
	case "rsa":
		return rsa.GenerateKey(rand, sshRSABits)
	case "ecdsa":
		return ecdsa.GenerateKey(elliptic.P256(), rand)
	case "ed25519":
		_, key, err := ed25519.GenerateKey(rand)
		return key, err
	}
	return nil, fmt.Errorf("kind %q is not supported", kind)
}
