package recert

import (
	"crypto"
	"crypto/x509"
	"fmt"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// signing is a leaf that is about to be signed again, with all that takes.
type signing struct {
	leaf   *certificate
	issuer *x509.Certificate
	with   crypto.Signer // the issuer's key
	beside crypto.Signer // the leaf's own key, if it is there
	change
}

// prepare gives a leaf a new key, where its own is nowhere and has an empty place, and takes over what an interrupted run has signed.
func (s *scan) prepare(files host.Files, work *signing, rand io.Reader) error {
	own, err := s.newKeyFor(files, work.leaf, rand)
	if err != nil {
		return err
	}
	work.beside = s.pki.keyBeside(work.leaf)
	if own != nil {
		if err := work.takeKey(work.leaf.Certificate, own, false); err != nil {
			return err
		}
		work.beside, work.leaf.rekey = own, own
		return nil
	}
	work.leaf.reissued, err = s.resume.certificate(work.leaf.Raw)
	return err
}

// signTogether signs leaves and proves each, as many at a time as there are processors. Those whose signature takes from rand, which knows
// nothing of being asked at the same time, are signed one after the other.
func signTogether(all []*signing, rand io.Reader) error {
	var others errgroup.Group
	others.SetLimit(runtime.GOMAXPROCS(0))
	for _, work := range all {
		if !isSalted(work.leaf.SignatureAlgorithm) {
			others.Go(func() error { return work.sign(rand) })
		}
	}
	err := others.Wait()
	for _, work := range all {
		if err == nil && isSalted(work.leaf.SignatureAlgorithm) {
			err = work.sign(rand)
		}
	}
	return err
}

func (w *signing) sign(rand io.Reader) (err error) {
	if w.leaf.reissued == nil {
		if w.leaf.reissued, err = reissue(w.leaf.Certificate, w.with, w.change, rand); err != nil {
			return w.failed(err)
		}
	}
	if err := verifyLeaf(w.leaf, w.issuer, w.beside, w.names); err != nil {
		return w.failed(err)
	}
	return nil
}

func (w *signing) failed(err error) error {
	return fmt.Errorf("re-issue the certificate of %q in %s: %w", w.leaf.Subject, w.leaf.places[0].where, err)
}
