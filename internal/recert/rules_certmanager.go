package recert

// cert-manager compares a certificate with what its Certificate asks for (cert-manager.io/v1), and issues another where they differ.
// One that was signed again for new names would be replaced by one with the old ones, so the Certificate changes with it; and a
// request of before the change, which would not fit any more, goes.

// certManagerRules are the names that a Certificate asks for.
func certManagerRules() []fieldRule {
	const keys, why = "cert-manager.io/certificates/*/*", "name that cert-manager issues a certificate for"
	return []fieldRule{
		{keys, fieldPath("spec/commonName"), exactName, why},
		{keys, fieldPath("spec/dnsNames/*"), exactName, why},
		{keys, fieldPath("spec/ipAddresses/*"), exactName, why},
		{keys, fieldPath("spec/uris/*"), uriName, why},
	}
}

// certManagerRequests are the requests of Certificates.
func certManagerRequests() deletion {
	return deletion{prefix: "cert-manager.io/certificaterequests/",
		why: "asks for the names of before the change, so cert-manager would issue anew",
		keep: func(meta metadata, _ string) string {
			if meta.owned {
				return ""
			}
			return "made by hand, no Certificate would make it again"
		}}
}

// exactName maps a text that is nothing but a name, as in a certificate.
func exactName(m Mapping, text string) (string, error) {
	mapped, _ := m.Name(text)
	return mapped, nil
}

// uriName maps the host of a URI, as in a certificate.
func uriName(m Mapping, text string) (string, error) { return m.cluster.text(m.Text(text)), nil }
