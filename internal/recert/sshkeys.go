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

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
)

// sshRSABits is what ssh-keygen makes today.
const sshRSABits = 3072

// planServerKeys generates new SSH host keys in the configured folder, each of its former type.
func (p *planner) planServerKeys() error {
	dir := p.Config.ServerSSHKeys
	if dir == "" {
		return nil
	}
	entries, err := p.ports.Files.List(dir)
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
		if err := p.planServerKey(path.Join(dir, name), kind); err != nil {
			return fmt.Errorf("make SSH host key %s: %w", name, err)
		}
	}
	if !found {
		p.addBlocked(dir, "regenerate_server_ssh_keys: there are no SSH host keys")
	}
	return nil
}

func (p *planner) planServerKey(at, kind string) error {
	key, err := newServerKey(kind, p.ports.Rand)
	if err != nil {
		return fmt.Errorf("generate a key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return fmt.Errorf("encode the key: %w", err)
	}
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encode the public key: %w", err)
	}
	texts := map[string][]byte{at: pem.EncodeToMemory(block), at + ".pub": ssh.MarshalAuthorizedKey(public)}
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		text := texts[file]
		info, err := p.ports.Files.Stat(file)
		if errors.Is(err, fs.ErrNotExist) && file != at {
			continue
		}
		if err != nil {
			return err
		}
		p.plan.files = append(p.plan.files, fileWrite{file, text, info.Mode().Perm()})
		p.AddChange(inspect.Rewrite, file, "SSH host key of this node alone")
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
