package cluster

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// EarliestExpiry returns the earliest NotAfter of all certificates in the PEM
// files. Other blocks, such as the private key in a kubelet's combined file,
// are passed over. A file without any certificate is an error.
func EarliestExpiry(files ...[]byte) (time.Time, error) {
	var earliest time.Time
	for i, data := range files {
		certs, err := certificates(data)
		if err != nil {
			return time.Time{}, fmt.Errorf("certificate file %d of %d: %w", i+1, len(files), err)
		}
		for _, c := range certs {
			if earliest.IsZero() || c.NotAfter.Before(earliest) {
				earliest = c.NotAfter
			}
		}
	}
	if earliest.IsZero() {
		return time.Time{}, errors.New("no certificate given")
	}
	return earliest, nil
}

func certificates(data []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse certificate: %w", err)
		}
		certs = append(certs, c)
	}
	if len(certs) == 0 {
		return nil, errors.New("holds no PEM certificate")
	}
	return certs, nil
}
