package onsite

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

const (
	sshDir         = "/etc/ssh"
	privateKeyMode = 0o600 // sshd refuses a private key that others may read
	publicKeyMode  = 0o644
)

// setHostKeys puts the site's SSH host keys in the place of those that are there: clients that know the node go on trusting it. Files of
// the same name are replaced in place, which keeps owner and label.
func (p *Reconfiguration) setHostKeys(ctx context.Context) error {
	c, err := p.readConfig()
	if err != nil || len(c.ServerSSHKeys) == 0 {
		return err
	}
	files, err := hostKeyFiles(c.ServerSSHKeys)
	if err != nil {
		return err
	}
	for name, text := range files {
		mode := fs.FileMode(privateKeyMode)
		if strings.HasSuffix(name, ".pub") {
			mode = publicKeyMode
		}
		if err := p.Files.Write(path.Join(sshDir, name), text, mode); err != nil {
			return fmt.Errorf("write the SSH host key %s: %w", name, err)
		}
	}
	names, err := p.Files.List(sshDir)
	if err != nil {
		return fmt.Errorf("list the SSH host keys: %w", err)
	}
	for _, name := range names {
		if _, ours := files[name]; ours || !isHostKey(name) {
			continue
		}
		if err := p.Files.Remove(path.Join(sshDir, name)); err != nil {
			return fmt.Errorf("remove the SSH host key %s: %w", name, err)
		}
	}
	return restartUnit(ctx, p.Units, host.UnitSSH)
}

func isHostKey(name string) bool {
	return strings.HasPrefix(name, "ssh_host_") && (strings.HasSuffix(name, "_key") || strings.HasSuffix(name, "_key.pub"))
}

// hostKeyFiles are the files by name, with the public halves that the site leaves out. Each ends with a line end, without which sshd
// does not read it.
func hostKeyFiles(keys []siteconfig.SecretFile) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, k := range keys {
		files[k.Name] = []byte(strings.TrimRight(k.Content.Reveal(), "\r\n") + "\n")
	}
	for _, k := range keys {
		public := k.Name + ".pub"
		if _, given := files[public]; given || k.IsPublic() {
			continue
		}
		signer, err := ssh.ParsePrivateKey(files[k.Name])
		if err != nil {
			return nil, fmt.Errorf("read the SSH host key %s: %w", k.Name, err)
		}
		files[public] = ssh.MarshalAuthorizedKey(signer.PublicKey())
	}
	return files, nil
}
