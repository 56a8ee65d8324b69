package recert

import (
	"crypto/sha256"
	"encoding/hex"
)

// packageServer is the API service whose authority OLM notes the hash of, beside the certificate that it issued.
const (
	packageServer     = "apiregistration.k8s.io/apiservices/v1.packages.operators.coreos.com"
	packageServerCert = "secrets/openshift-operator-lifecycle-manager/packageserver-service-cert"
	olmHashAnnotation = "olmcahash"
)

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
