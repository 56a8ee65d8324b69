package preflight

import (
	"crypto/x509"
	"encoding/pem"
	"path"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// readExpiries are the node's own: of kubelet and of the API server. A file that is not there or is
// no certificate says nothing about the others.
func readExpiries(files host.Files) (out []Expiry) {
	list := []string{host.KubeletClientCert, host.KubeletServingCert}
	names, err := files.List(host.APIServerSecrets)
	if err == nil {
		for _, name := range names {
			list = append(list, path.Join(host.APIServerSecrets, name, "tls.crt"))
		}
	}
	for _, file := range list {
		data, err := files.Read(file)
		if err != nil {
			continue
		}
		if at, ok := firstExpiry(data); ok {
			out = append(out, Expiry{File: file, At: at})
		}
	}
	return out
}

// firstExpiry is the earliest end of the certificates in a PEM file.
func firstExpiry(data []byte) (first time.Time, found bool) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err == nil && (!found || c.NotAfter.Before(first)) {
			first, found = c.NotAfter, true
		}
	}
	return first, found
}
