package recert

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Operators note hashes of what they deployed something from. The one of an authority's bundle is followed; those that only
// make an operator deploy once more, with what it finds, are listed: writing them would hide the change from it.

// packageServer is the API service whose authority OLM notes the hash of, beside the certificate that it issued.
const (
	packageServer      = "apiregistration.k8s.io/apiservices/v1.packages.operators.coreos.com"
	packageServerCert  = "secrets/openshift-operator-lifecycle-manager/packageserver-service-cert"
	olmHashAnnotation  = "olmcahash"
	operatorAnnotation = "operator.openshift.io/"
)

// hashingDeployments carry hashes of the config maps and secrets that they were made from.
func hashingDeployments() []string {
	return []string{"deployments/openshift-apiserver/apiserver", "deployments/openshift-oauth-apiserver/apiserver"}
}

// followHashes keeps the note of the packageserver's authority right.
func (s *scan) followHashes() error {
	was := s.olmBundle
	now := s.pki.replace(was)
	if was == now {
		return nil
	}
	for _, o := range s.objects {
		if o.key != storagePrefix+packageServerCert {
			continue
		}
		return o.edit(func(at []string, text string) (string, bool) {
			if !matchPath([]string{"metadata", "annotations", olmHashAnnotation}, at) || text != hashText(was) {
				return text, false
			}
			s.rewritten(o, at, "hash of the authority that issued it")
			return hashText(now), true
		})
	}
	return nil
}

func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// listHashes says which deployments will be rolled out again, and because of what.
func (s *scan) listHashes() error {
	changed := map[string]bool{}
	for _, e := range slices.Concat(s.plan.first, s.plan.edits) {
		changed[strings.TrimPrefix(e.Key, storagePrefix)] = true
	}
	for _, d := range s.hashing {
		name := strings.TrimPrefix(d.key, storagePrefix)
		err := d.walk(func(at []string, _ string) {
			if len(at) != 3 || at[0] != "metadata" || at[1] != "annotations" || !strings.HasPrefix(at[2], operatorAnnotation) {
				return
			}
			what := strings.TrimPrefix(at[2], operatorAnnotation)
			if source, ok := dependency(what); ok && changed[source] {
				why := "its operator rolls it out once more: its hash of " + source + " is of before the change"
				s.plan.Kept = append(s.plan.Kept, Note{d.key, why})
			}
			if what == "spec-hash" && changed[name] {
				why := "its operator writes it once more: its hash of its own specification is of before the change"
				s.plan.Kept = append(s.plan.Kept, Note{d.key, why})
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dependency reads "dep-NAMESPACE.NAME.KIND", as library-go writes it, as a key below the storage prefix.
func dependency(annotation string) (string, bool) {
	text, ok := strings.CutPrefix(annotation, "dep-")
	parts := strings.Split(text, ".")
	if !ok || len(parts) != 3 || !slices.Contains([]string{"configmap", "secret"}, parts[2]) {
		return "", false
	}
	return parts[2] + "s/" + parts[0] + "/" + parts[1], true
}
