package recert

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// reissueLeaves signs every affected leaf again and proves the result.
func (p *planner) reissueLeaves() error {
	p.plan.signed = map[string]string{}
	var all []*certs.Signing
	for _, leaf := range p.PKI.Leaves {
		work, err := p.signingOf(leaf)
		if err != nil {
			p.cannotReissue(leaf, err)
			continue
		}
		if err := p.prepareSigning(work); err != nil {
			return work.Failed(err)
		}
		all = append(all, work)
	}
	if err := certs.SignTogether(all, p.ports.Rand); err != nil {
		return fmt.Errorf("sign leaves: %w", err)
	}
	for _, work := range all {
		p.settleSigned(work.Leaf)
	}
	p.keepNamedAuthorities()
	return nil
}

// signingOf has the leaf's own authority sign. The signer of kubelet serving certificates rotates within weeks, often with its key gone,
// and without an approver the kubelet's request for a new one stays pending: then the present signer signs.
func (p *planner) signingOf(leaf *certs.Certificate) (*certs.Signing, error) {
	work, err := p.PKI.SigningOf(leaf, rules.HasEssentialPlace(leaf))
	if err == nil || !rules.IsKubeletServing(leaf) {
		return work, err
	}
	work, missing := p.PKI.SigningBySuccessor(leaf, p.Now, rules.IsCSRSigner)
	if missing != nil {
		return nil, errors.Join(err, missing)
	}
	return work, nil
}

// prepareSigning gives a leaf a new key, where its own is missing and has an empty place, and adopts what an interrupted run signed.
func (p *planner) prepareSigning(work *certs.Signing) error {
	own, err := p.newKeyFor(work.Leaf)
	if err != nil {
		return err
	}
	if own != nil {
		return work.GiveKey(own)
	}
	work.Leaf.Reissued, err = p.Record.Certificate(work.Leaf.Raw)
	return err
}

// settleSigned lists a leaf that was signed again. It is recorded where another run would sign a different one, or where its names do
// not tell the new one from the old one.
func (p *planner) settleSigned(leaf *certs.Certificate) {
	if leaf.Rekey != nil || certs.IsSalted(leaf.SignatureAlgorithm) || p.Mapping.Overlaps() {
		p.recordSigned(leaf)
	}
	p.plan.Certificates = append(p.plan.Certificates, reissueOf(leaf))
}

func (p *planner) recordSigned(cert *certs.Certificate) {
	p.plan.signed[config.Hash(cert.Raw)] = base64.StdEncoding.EncodeToString(cert.Reissued.Raw)
}

func (p *planner) keepNamedAuthorities() {
	if p.Mapping.Overlaps() {
		return
	}
	for _, cert := range p.PKI.Everything() {
		if cert.Named {
			p.keepAt(cert.Places, "is an authority that names an old address; authorities are not changed")
		}
	}
}

func (p *planner) keepAt(places []certs.Place, why string) {
	for _, at := range places {
		p.Keep(at.Where, why)
	}
}

// reissueOf describes a certificate that was signed again.
func reissueOf(cert *certs.Certificate) Reissue {
	fresh := cert.Reissued
	item := Reissue{NewKey: !cert.IsCA && cert.Rekey != nil, Subject: fresh.Subject.String(), Issuer: fresh.Issuer.String(),
		NotAfter: fresh.NotAfter.UTC().Format(time.RFC3339), Names: certs.NamesOf(fresh)}
	for _, at := range cert.Places {
		item.Places = append(item.Places, at.Where)
	}
	if fresh.SignatureAlgorithm != cert.SignatureAlgorithm {
		item.Algorithm = fmt.Sprintf("%s instead of %s", fresh.SignatureAlgorithm, cert.SignatureAlgorithm)
	}
	return item
}

// cannotReissue blocks the plan, or keeps the leaf where the control plane starts without it.
func (p *planner) cannotReissue(leaf *certs.Certificate, cause error) {
	if rules.IsKubeletServing(leaf) {
		p.keepAt(leaf.Places, byKubelet+" by CSR: "+cause.Error())
		return
	}
	why := "cannot be re-issued: " + cause.Error()
	if i := slices.IndexFunc(leaf.Places, rules.IsEssential); i >= 0 {
		p.addBlocked(leaf.Places[i].Where, why)
		return
	}
	p.keepAt(leaf.Places, why)
	p.addWarning(leaf.Places[0].Where, fmt.Sprintf("the certificate of %q keeps an old address or name in %s, and %s", leaf.Subject,
		inspect.Count(len(leaf.Places), "place"), why))
}

func (p *planner) addWarning(where, why string) {
	p.plan.Warnings = append(p.plan.Warnings, inspect.Note{Where: where, Why: why})
}

// reissueTrees signs everything again that the rules for names, keys, certificates and validity reach.
func (p *planner) reissueTrees() error {
	t := certs.NewTree(p.Config, p.Mapping, p.Now, p.PKI)
	t.Rand, t.NewKey, t.OnUnsignable, t.Refuse, t.Keep = p.ports.Rand, p.newKeyFor, p.cannotReissue, p.addBlocked, p.Keep
	t.IsEssential = rules.HasEssentialPlace
	t.OnAlone, t.Successor = p.signedAlone, p.successorOf
	if err := t.Load(p.ports.Files); err != nil {
		return fmt.Errorf("load the given keys and certificates: %w", err)
	}
	if err := p.chooseKeys(t.Keys); err != nil {
		return err
	}
	if len(p.Record.Certificates) > 0 { // an interrupted run has signed already
		return p.adoptKeys(t.Keys)
	}
	if err := t.Reissue(); err != nil {
		return fmt.Errorf("re-issue trees: %w", err)
	}
	p.plan.signed, p.plan.rekeyed = map[string]string{}, t.Rekeyed
	for _, cert := range t.Signed {
		p.plan.Certificates = append(p.plan.Certificates, reissueOf(cert))
		p.recordSigned(cert)
	}
	return nil
}
