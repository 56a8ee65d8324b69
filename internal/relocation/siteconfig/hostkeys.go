package siteconfig

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"golang.org/x/crypto/ssh"
)

// hostKeyName is a name that sshd looks for by itself (sshd_config(5), HostKey).
var hostKeyName = regexp.MustCompile(`^ssh_host_[a-z0-9]+_key(\.pub)?$`)

const publicEnding = ".pub"

// IsPublic says that a file holds the public half of a host key.
func (f SecretFile) IsPublic() bool { return strings.HasSuffix(f.Name, publicEnding) }

// checkHostKeys refuses what sshd would not start with.
func (v *validator) checkHostKeys(list []SecretFile) {
	private := map[string]ssh.PublicKey{}
	seen := map[string]bool{}
	for i, f := range list {
		key := itemKey("serverSSHKeys", i)
		switch {
		case !hostKeyName.MatchString(f.Name):
			v.addProblem(joinKey(key, "name"), f.Name, "must be the name of a host key below /etc/ssh, such as ssh_host_ed25519_key")
		case seen[f.Name]:
			v.addProblem(joinKey(key, "name"), f.Name, "appears twice; keep one")
		}
		seen[f.Name] = true
		if f.IsPublic() {
			continue
		}
		public, err := publicHalf(f.Content)
		if err != nil {
			v.addHidden(joinKey(key, "content"), "%v", err)
			continue
		}
		private[f.Name] = public
	}
	for i, f := range list {
		if !f.IsPublic() {
			continue
		}
		have, ok := private[strings.TrimSuffix(f.Name, publicEnding)]
		public, _, _, _, err := ssh.ParseAuthorizedKey([]byte(f.Content.Reveal()))
		switch {
		case err != nil:
			v.addHidden(joinKey(itemKey("serverSSHKeys", i), "content"), "must be one public key, such as ssh-ed25519 AAAA... name")
		case !seen[strings.TrimSuffix(f.Name, publicEnding)]:
			v.addProblem(joinKey(itemKey("serverSSHKeys", i), "name"), f.Name,
				"must come with its private key, the file of the same name without .pub")
		case ok && !bytes.Equal(have.Marshal(), public.Marshal()):
			v.addHidden(joinKey(itemKey("serverSSHKeys", i), "content"), "must be the public half of the private key beside it")
		}
	}
}

func publicHalf(content Secret) (ssh.PublicKey, error) {
	signer, err := ssh.ParsePrivateKey([]byte(content.Reveal()))
	if missing := (*ssh.PassphraseMissingError)(nil); errors.As(err, &missing) {
		return nil, errors.New("must be a private key without a passphrase, which sshd cannot ask for")
	}
	if err != nil {
		return nil, errors.New("must be a private SSH key, with its lines from BEGIN to END")
	}
	return signer.PublicKey(), nil
}
