package preflight

import (
	"crypto/x509"
	"encoding/pem"
	"path"

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
		if e, ok := readValidity(data); ok {
			e.File = file
			out = append(out, e)
		}
	}
	return out
}

// readValidity is when all the certificates in a PEM file are valid.
func readValidity(data []byte) (e Expiry, found bool) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		if !found || c.NotAfter.Before(e.At) {
			e.At = c.NotAfter
		}
		if !found || c.NotBefore.After(e.From) {
			e.From = c.NotBefore
		}
		found = true
	}
	return e, found
}
