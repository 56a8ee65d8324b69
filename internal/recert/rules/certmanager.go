package rules

import (
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// cert-manager compares a certificate with what its Certificate asks for (cert-manager.io/v1), and issues another where they differ.
// It would replace a re-issued one by one with the old names, so the Certificate changes with it, and requests for the old names are
// deleted.

// certManagerRules are the names that a Certificate asks for.
func certManagerRules() []FieldRule {
	const keys, why = "cert-manager.io/certificates/*/*", "name that cert-manager issues a certificate for"
	return []FieldRule{
		{keys, wire.FieldPath("spec/commonName"), exactName, why},
		{keys, wire.FieldPath("spec/dnsNames/*"), exactName, why},
		{keys, wire.FieldPath("spec/ipAddresses/*"), exactName, why},
		{keys, wire.FieldPath("spec/uris/*"), uriName, why},
	}
}

// certManagerRequests are the requests of Certificates.
func certManagerRequests() Deletion {
	return Deletion{Prefix: "cert-manager.io/certificaterequests/",
		Why: "requests the old names, so cert-manager would issue them again",
		Keep: func(meta wire.Metadata, _ string) string {
			if meta.Owned {
				return ""
			}
			return "created by hand, no Certificate would recreate it"
		}}
}

// exactName maps a text that is nothing but a name, as in a certificate.
func exactName(m replace.Mapping, text string) (string, error) {
	mapped, _ := m.Name(text)
	return mapped, nil
}

// uriName maps the host of a URI, as in a certificate.
func uriName(m replace.Mapping, text string) (string, error) {
	return m.Cluster.Text(m.Text(text)), nil
}
