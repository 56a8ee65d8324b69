package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
)

// findCredentials finds those of a repository in an auth file: the entry that names the longest part of it, as
// containers-auth.json(5) says.
func findCredentials(on *files.Files, file string, repo name.Repository) (authn.Authenticator, error) {
	if file == "" {
		return authn.Anonymous, nil
	}
	data, err := on.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return authn.Anonymous, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the auth file: %w", err)
	}
	var doc struct {
		Auths map[string]authn.AuthConfig `json:"auths"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s is not a containers auth file", file) // the cause may quote a secret
	}
	for at := repo.Name(); ; {
		for _, key := range []string{at, "https://" + at, "http://" + at, "https://" + at + "/v1/", "https://" + at + "/v2/"} {
			if c, ok := doc.Auths[key]; ok {
				return authn.FromConfig(c), nil
			}
		}
		cut := strings.LastIndexByte(at, '/')
		if cut < 0 {
			return authn.Anonymous, nil
		}
		at = at[:cut]
	}
}
