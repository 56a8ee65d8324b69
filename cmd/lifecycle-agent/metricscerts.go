package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
)

// servingCertificates is the certificate of the metrics endpoint: the pair in dir, which is read again when it changes. While there is
// none, it is one that this program signs itself: an agent that waits for a certificate before it starts would not end a change.
type servingCertificates struct {
	dir string

	mu      sync.Mutex
	changed time.Time
	pair    *tls.Certificate
	own     *tls.Certificate
}

// getCertificate implements tls.Config.GetCertificate.
func (s *servingCertificates) getCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loadPair(); s.pair != nil {
		return s.pair, nil
	}
	if s.own == nil {
		own, err := selfSigned()
		if err != nil {
			return nil, err
		}
		s.own = own
	}
	return s.own, nil
}

// loadPair reads the pair if its file is new. A pair that cannot be read, such as one that is half written, leaves the one before.
func (s *servingCertificates) loadPair() {
	crt, key := filepath.Join(s.dir, corev1.TLSCertKey), filepath.Join(s.dir, corev1.TLSPrivateKeyKey)
	info, err := os.Stat(crt)
	if err != nil || info.ModTime().Equal(s.changed) {
		return
	}
	if pair, err := tls.LoadX509KeyPair(crt, key); err == nil {
		s.pair, s.changed = &pair, info.ModTime()
	}
}

func selfSigned() (*tls.Certificate, error) {
	crt, key, err := certutil.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate for the metrics: %w", err)
	}
	pair, err := tls.X509KeyPair(crt, key)
	if err != nil {
		return nil, fmt.Errorf("load the certificate of the metrics: %w", err)
	}
	return &pair, nil
}
