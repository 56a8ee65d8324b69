package preflight

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/secretscan"
)

func checkSeedImage(spec lcav1.SeedGeneratorSpec, _ Facts) finding {
	if _, err := name.NewTag(spec.SeedImage, name.StrictValidation); err != nil {
		return finding{problem: fmt.Sprintf("spec.seedImage %q is no pull specification with a tag", spec.SeedImage),
			hint: "write registry/repository:tag, for example registry.example.com/seeds/sno:4.20.3"}
	}
	return finding{}
}

func checkRecertImage(spec lcav1.SeedGeneratorSpec, _ Facts) finding {
	if spec.RecertImage == "" {
		return finding{}
	}
	if _, err := name.ParseReference(spec.RecertImage, name.StrictValidation); err != nil {
		return finding{problem: fmt.Sprintf("spec.recertImage %q is no pull specification", spec.RecertImage),
			hint: "write registry/repository with a tag or a digest, or leave it out"}
	}
	return finding{}
}

func checkDecisions(spec lcav1.SeedGeneratorSpec, _ Facts) finding {
	for i, d := range spec.SecretDecisions {
		r := secretscan.Ruling{Object: d.Object, Key: d.Key, Path: d.Path, Reason: d.Reason}
		if problem := r.Problem(); problem != "" {
			return finding{problem: fmt.Sprintf("spec.secretDecisions[%d] %s", i, problem),
				hint: "name the object or the path as status.secrets shows it, and say why"}
		}
	}
	return finding{}
}

// checkAuth never repeats what is in the file.
func checkAuth(spec lcav1.SeedGeneratorSpec, f Facts) finding {
	const how = "create it with 'kubectl lca seed secret', or from the auth file that 'podman login --authfile FILE REGISTRY' writes"
	if !f.SecretFound {
		return finding{problem: "Secret seedgen does not exist in namespace openshift-lifecycle-agent", hint: how}
	}
	if len(f.Auth) == 0 {
		return finding{problem: "Secret seedgen has no key seedAuth", hint: how}
	}
	var file struct {
		Auths       map[string]json.RawMessage `json:"auths"`
		CredHelpers map[string]string          `json:"credHelpers"`
	}
	if json.Unmarshal(f.Auth, &file) != nil || len(file.Auths) == 0 {
		return finding{problem: "key seedAuth of Secret seedgen is no auth file: it is not JSON with 'auths'", hint: how}
	}
	tag, err := name.NewTag(spec.SeedImage)
	if err != nil {
		return finding{} // the check of the image says so
	}
	if !coversImage(file.Auths, tag) {
		return finding{problem: fmt.Sprintf("key seedAuth of Secret seedgen has no credentials for %s", tag.RegistryStr()), hint: how}
	}
	return finding{}
}

// coversImage says whether a key of an auth file is for the image's registry, or for a path that leads to its repository.
func coversImage(auths map[string]json.RawMessage, tag name.Tag) bool {
	full := tag.RegistryStr() + "/" + tag.RepositoryStr()
	for key := range auths {
		key = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://"), "/")
		key = strings.TrimSuffix(strings.TrimSuffix(key, "/v1"), "/v2")
		if key == "docker.io" {
			key = name.DefaultRegistry
		}
		if full == key || strings.HasPrefix(full, key+"/") {
			return true
		}
	}
	return false
}

func checkSigning(_ lcav1.SeedGeneratorSpec, f Facts) finding {
	if f.SigningProblem == "" {
		return finding{}
	}
	return finding{problem: f.SigningProblem,
		hint: "make it with 'cosign generate-key-pair k8s://openshift-lifecycle-agent/" + lcav1.SeedSigningSecretName + "'"}
}
