package recert

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// agedLeaf is signed with an algorithm that nothing new is signed with.
func agedLeaf(t *testing.T, ca *clustertest.Pair, algorithm x509.SignatureAlgorithm) *clustertest.Pair {
	t.Helper()
	key := clustertest.NewKey(t, "p256")
	if ca == nil && algorithm == x509.SHA1WithRSA {
		key = clustertest.NewKey(t, "rsa")
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "aged"}, SignatureAlgorithm: algorithm,
		IPAddresses: []net.IP{net.ParseIP(oldV4), net.ParseIP(oldV6)}}
	return clustertest.MakePair(t, template, key, ca)
}

// relabelled says of an RSA signature with SHA-256 that it is of another algorithm, whose identifier is as long.
func relabelled(t *testing.T, ca *clustertest.Pair, last byte) *clustertest.Pair {
	t.Helper()
	identifier := []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b} // sha256WithRSAEncryption
	other := append(bytes.Clone(identifier[:len(identifier)-1]), last)
	leaf := agedLeaf(t, ca, x509.SHA256WithRSA)
	leaf.CertPEM = clustertest.PEMText("CERTIFICATE", bytes.ReplaceAll(leaf.Cert.Raw, identifier, other))
	return leaf
}

// A certificate of a user, signed with what nothing is signed with any more, does not stop a change: it stays, and the plan says so.
func TestACertificateOfAnOldAlgorithmIsKeptWithAWarning(t *testing.T) {
	const md5WithRSA, unassigned = 0x04, 0x7f
	for name, make := range map[string]func(rsa, p256 *clustertest.Pair) *clustertest.Pair{
		"SHA1-RSA":             func(rsa, _ *clustertest.Pair) *clustertest.Pair { return agedLeaf(t, rsa, x509.SHA1WithRSA) },
		"ECDSA-SHA1":           func(_, p256 *clustertest.Pair) *clustertest.Pair { return agedLeaf(t, p256, x509.ECDSAWithSHA1) },
		"SHA1-RSA, by itself":  func(_, _ *clustertest.Pair) *clustertest.Pair { return agedLeaf(t, nil, x509.SHA1WithRSA) },
		"MD5-RSA":              func(rsa, _ *clustertest.Pair) *clustertest.Pair { return relabelled(t, rsa, md5WithRSA) },
		"an unknown algorithm": func(rsa, _ *clustertest.Pair) *clustertest.Pair { return relabelled(t, rsa, unassigned) },
	} {
		t.Run(name, func(t *testing.T) {
			for mode, extra := range map[string]map[string]any{"addresses": {}, "tree": {"ip_change_only": nil, "extend_expiration": true},
				"end": {"ip_change_only": nil, "force_expire": true}} {
				keepsAged(t, name, mode, extra, make)
			}
		})
	}
}

func keepsAged(t *testing.T, name, mode string, extra map[string]any, make func(rsa, p256 *clustertest.Pair) *clustertest.Pair) {
	t.Helper()
	w := newWorld(t)
	b := &builder{t: t, w: w}
	rsa, p256 := clustertest.Authority(t, "users-rsa", "rsa"), clustertest.Authority(t, "users-p256", "p256")
	b.secret("ns", "users-rsa", map[string]string{"tls.crt": rsa.CertPEM, "tls.key": rsa.KeyPEM})
	b.secret("ns", "users-p256", map[string]string{"tls.crt": p256.CertPEM, "tls.key": p256.KeyPEM})
	aged := make(rsa, p256)
	b.secret("ns", "aged", map[string]string{"tls.crt": aged.CertPEM, "tls.key": aged.KeyPEM})
	extra["cn_san_replace_rules"] = []string{oldV4 + "," + newV4, oldV6 + "," + newV6}
	withConfig(t, w, extra)
	plan, err := engine(w).Apply(t.Context(), configPath)
	if err != nil {
		t.Fatalf("%s: %v", mode, err)
	}
	algorithm, _, _ := strings.Cut(name, ",")
	const at = rules.StoragePrefix + "secrets/ns/aged data/tls.crt"
	for list, notes := range map[string]string{"kept": fmt.Sprint(plan.Kept), "warnings": fmt.Sprint(plan.Warnings)} {
		if !strings.Contains(notes, at) || !strings.Contains(notes, algorithm) {
			t.Errorf("%s: %s: %s", mode, list, notes)
		}
	}
	if worldTexts(t, w)[at] != aged.CertPEM || certificateAt(t, w, peerAt, 0).VerifyHostname(newV4) != nil {
		t.Errorf("%s: the certificate was changed, or etcd's was not", mode)
	}
	v := verified(t, w)
	if strings.Contains(fmt.Sprint(v.Problems), "ns/aged") || !strings.Contains(fmt.Sprint(v.Unknown), "ns/aged") {
		t.Errorf("%s: problems %v, unknown %v", mode, v.Problems, v.Unknown)
	}
}

// What etcd needs is signed with an algorithm that its authority's key allows.
func TestAnEssentialCertificateOfAnOldAlgorithmGetsANewOne(t *testing.T) {
	for mode, extra := range map[string]map[string]any{"addresses": {}, "tree": {"ip_change_only": nil, "extend_expiration": true}} {
		for signer, c := range map[string]struct{ old, fresh x509.SignatureAlgorithm }{
			"rsa": {x509.SHA1WithRSA, x509.SHA256WithRSA}, "p384": {x509.ECDSAWithSHA1, x509.ECDSAWithSHA384}, "p256": {x509.ECDSAWithSHA1, x509.ECDSAWithSHA256},
		} {
			w := newWorld(t)
			b := &builder{t: t, w: w}
			ca := clustertest.Authority(t, "aged-etcd-signer", signer)
			leaf := agedLeaf(t, ca, c.old)
			b.secret("openshift-etcd", "aged-etcd-signer", map[string]string{"tls.crt": ca.CertPEM, "tls.key": ca.KeyPEM})
			b.secret("openshift-etcd", "etcd-peer-sno", map[string]string{"tls.crt": leaf.CertPEM, "tls.key": leaf.KeyPEM})
			extra["cn_san_replace_rules"] = []string{oldV4 + "," + newV4, oldV6 + "," + newV6}
			withConfig(t, w, extra)
			plan, err := engine(w).Apply(t.Context(), configPath)
			if err != nil {
				t.Fatalf("%s, %s: %v", mode, signer, err)
			}
			fresh := certificateAt(t, w, peerAt, 0)
			if fresh.SignatureAlgorithm != c.fresh || fresh.CheckSignatureFrom(ca.Cert) != nil || fresh.VerifyHostname(newV4) != nil {
				t.Errorf("%s, %s: %s for %v", mode, signer, fresh.SignatureAlgorithm, fresh.IPAddresses)
			}
			var text bytes.Buffer
			if err := plan.WriteText(&text); err != nil || !strings.Contains(text.String(), "signed with "+c.fresh.String()+" instead of "+c.old.String()) {
				t.Errorf("%s, %s: the plan is\n%s", mode, signer, text.String())
			}
			before := w.clone()
			delete(w.files, config.RecordPath(configPath))
			withConfig(t, w, map[string]any{"cn_san_replace_rules": extra["cn_san_replace_rules"]})
			runRecert(t, w)
			compareWorlds(t, mode+", "+signer+", once more", worldTexts(t, w), worldTexts(t, before))
		}
	}
}

// Who signed it cannot be told, so it is not signed again, and the change is refused before anything is touched.
func TestAnEssentialCertificateThatCannotBeVerifiedBlocksThePlan(t *testing.T) {
	w := newWorld(t)
	(&builder{t: t, w: w}).secret("openshift-etcd", "etcd-peer-sno", map[string]string{"tls.crt": relabelled(t, etcdSigner(t, w), 0x04).CertPEM, "tls.key": ""})
	plan, err := engine(w).Plan(t.Context(), mustConfig(t, w))
	if err != nil || !strings.Contains(fmt.Sprint(plan.Blocked), "etcd-peer-sno data/tls.crt cannot be re-issued: ") || !strings.Contains(fmt.Sprint(plan.Blocked), "MD5-RSA") {
		t.Errorf("%v, blocked %v", err, plan.Blocked)
	}
	if err := engine(w).Run(t.Context(), configPath); !errors.Is(err, ErrBlocked) || w.member.PeerURLs[0] != "https://"+oldV4+":2380" {
		t.Errorf("%v, the member is at %v", err, w.member.PeerURLs)
	}
}
