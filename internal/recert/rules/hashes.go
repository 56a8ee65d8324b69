package rules

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// PackageServer is the API service whose authority OLM notes the hash of, beside the certificate that it issued.
const (
	PackageServer     = "apiregistration.k8s.io/apiservices/v1.packages.operators.coreos.com"
	PackageServerCert = "secrets/openshift-operator-lifecycle-manager/packageserver-service-cert"
	OlmHashAnnotation = "olmcahash"
)

// HashText is the hash that OLM keeps of an authority.
func HashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Operators note in a Deployment, and in its pods' template, hashes of the config maps and secrets that it was made from, and roll it out
// once more where a hash is of something else (library-go, pkg/operator/resource/resourcehash). The hashes of what a run changes follow:
// then the cluster comes up with what it will stay with, instead of taking its API servers away again minutes later.

const (
	operatorAnnotation = "operator.openshift.io/"
	dependencyPrefix   = "dep-"
	// SpecHash is of the specification that the operator asked for, before the API server's defaults. It cannot be computed here. The
	// operator updates it, which by itself rolls nothing out.
	SpecHash = "spec-hash"
)

// hashingDeployments carry hashes of the config maps and secrets that they were made from.
func hashingDeployments() []string {
	return []string{"deployments/openshift-apiserver/apiserver", "deployments/openshift-oauth-apiserver/apiserver"}
}

// OperatorNote is the name of an operator's annotation of a workload, or of its pods' template.
func OperatorNote(at []string) (name string, ok bool) {
	annotation := []string{"metadata", "annotations", "*"}
	if !wire.MatchPath(annotation, at) && !wire.MatchPath(append([]string{"spec", "template"}, annotation...), at) {
		return "", false
	}
	return strings.CutPrefix(at[len(at)-1], operatorAnnotation)
}

// Dependency reads "dep-NAMESPACE.NAME.KIND" as a key below the storage prefix; empty where it is none.
func Dependency(note string) string {
	text, ok := strings.CutPrefix(note, dependencyPrefix)
	parts := strings.Split(text, ".")
	if !ok || len(parts) != 3 || !slices.Contains([]string{"configmap", "secret"}, parts[2]) {
		return ""
	}
	return parts[2] + "s/" + parts[0] + "/" + parts[1]
}

// ResourceHash is the hash of an object's data as library-go takes it: FNV-1 over what Go writes as JSON, bytes of a Secret in base64.
func ResourceHash(o *wire.Object, value []byte) (string, error) {
	texts := map[string]string{}
	binary := map[string][]byte{}
	err := (&wire.Object{Key: o.Key, Value: value}).Walk(func(at []string, text string) {
		if len(at) == 2 && at[0] == "data" {
			texts[at[1]], binary[at[1]] = text, []byte(text)
		}
	})
	if err != nil {
		return "", err
	}
	var data any = texts
	if strings.HasPrefix(o.Key, StoragePrefix+"secrets/") {
		data = binary
	}
	sum := fnv.New32()
	if err := json.NewEncoder(sum).Encode(data); err != nil {
		return "", fmt.Errorf("encode the data: %w", err)
	}
	return base64.URLEncoding.EncodeToString(sum.Sum(nil)), nil
}
