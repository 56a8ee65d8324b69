package recert

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

func networks(t *testing.T, list ...string) (out []*net.IPNet) {
	t.Helper()
	for _, text := range list {
		_, network, err := net.ParseCIDR(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, network)
	}
	return out
}

// constrained is an authority that may sign for some names only.
func constrained(t *testing.T, cn string, parent *clustertest.Pair, limits x509.Certificate) *clustertest.Pair {
	t.Helper()
	limits.SerialNumber, limits.Subject = big.NewInt(3), pkix.Name{CommonName: cn}
	limits.IsCA, limits.BasicConstraintsValid, limits.KeyUsage = true, true, x509.KeyUsageCertSign
	return clustertest.MakePair(t, &limits, clustertest.NewKey(t, "p256"), parent)
}

// constraint is a case: what the authority is limited to, and whether a certificate with the new names verifies.
type constraint struct {
	limits func(t *testing.T) x509.Certificate
	above  bool // the limits are those of the authority's authority
	names  []string
	kept   bool
}

func constraints() map[string]constraint {
	ips := func(permitted, excluded []string) func(t *testing.T) x509.Certificate {
		return func(t *testing.T) x509.Certificate {
			return x509.Certificate{PermittedIPRanges: networks(t, permitted...), ExcludedIPRanges: networks(t, excluded...)}
		}
	}
	domains := func(permitted, excluded []string) func(t *testing.T) x509.Certificate {
		return func(*testing.T) x509.Certificate {
			return x509.Certificate{PermittedDNSDomains: permitted, ExcludedDNSDomains: excluded}
		}
	}
	both := []string{oldV4, oldV6}
	return map[string]constraint{
		"none":                        {domains(nil, nil), false, both, false},
		"old networks":                {ips([]string{"192.0.2.0/24", "2001:db8::/64"}, nil), false, both, true},
		"old networks, one above":     {ips([]string{"192.0.2.0/24", "2001:db8::/64"}, nil), true, both, true},
		"one family":                  {ips([]string{"0.0.0.0/0", "2001:db8::/64"}, nil), false, both, true},
		"both networks":               {ips([]string{"192.0.2.0/24", "198.51.100.0/24", "2001:db8::/32"}, nil), false, both, false},
		"the new network is excluded": {ips(nil, []string{"198.51.100.0/24"}), false, both, true},
		"another one is excluded":     {ips(nil, []string{"203.0.113.0/24"}), false, both, false},
		"domain":                      {domains([]string{"old.example.com"}, nil), false, []string{"app.old.example.com"}, true},
		"wider domain":                {domains([]string{"example.com"}, nil), false, []string{"app.old.example.com"}, false},
		"a domain and an address":     {domains([]string{"example.com"}, nil), false, []string{"app.old.example.com", oldV4}, false},
		"excluded domain":             {domains(nil, []string{"new.example.com"}), false, []string{"app.old.example.com"}, true},
	}
}

// build stores a leaf of a constrained authority.
func (c constraint) build(t *testing.T, w *world, ns, name string) *clustertest.Pair {
	t.Helper()
	b := &builder{t: t, w: w}
	ca := constrained(t, "constrained", nil, c.limits(t))
	if c.above {
		root := ca
		ca = constrained(t, "below", root, x509.Certificate{})
		b.configMap("ns", "root-of-constrained", map[string]string{"ca.crt": root.CertPEM})
	}
	b.secret("ns", "constrained", map[string]string{"tls.crt": ca.CertPEM, "tls.key": ca.KeyPEM})
	template := &x509.Certificate{SerialNumber: big.NewInt(4), Subject: pkix.Name{CommonName: "limited"}}
	for _, n := range c.names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, n)
	}
	leaf := clustertest.MakePair(t, template, clustertest.NewKey(t, "p256"), ca)
	b.secret(ns, name, map[string]string{"tls.crt": leaf.CertPEM, "tls.key": leaf.KeyPEM})
	return leaf
}

// A certificate outside the constraints of its authority is none to those who verify it: the old one stays.
func TestNoCertificateIsSignedOutsideNameConstraints(t *testing.T) {
	for name, c := range constraints() {
		for mode, extra := range map[string]map[string]any{"leaves": {}, "trees": {"ip_change_only": nil, "extend_expiration": true}} {
			w := newWorld(t)
			leaf := c.build(t, w, "ns", "limited")
			replaced := []string{oldV4 + "," + newV4, oldV6 + "," + newV6}
			if strings.Contains(c.names[0], "example") {
				replaced = append(replaced, "app.old.example.com,app.new.example.com")
			}
			extra["cn_san_replace_rules"] = replaced
			withConfig(t, w, extra)
			plan, err := engine(w).Apply(t.Context(), configPath)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, mode, err)
			}
			const at = "secrets/ns/limited data/tls.crt"
			if kept := certificateAt(t, w, at, 0).Equal(leaf.Cert); kept != c.kept && (mode == "leaves" || c.kept) {
				t.Errorf("%s, %s: kept: %t", name, mode, kept)
			}
			for _, list := range []string{fmt.Sprint(plan.Kept), fmt.Sprint(plan.Warnings)} {
				if said := strings.Contains(list, rules.StoragePrefix+at) && strings.Contains(list, "name constraints"); said != c.kept {
					t.Errorf("%s, %s: said: %t in %s", name, mode, said, list)
				}
			}
			if v := verified(t, w); strings.Contains(fmt.Sprint(v.Problems), at) || c.kept && !strings.Contains(fmt.Sprint(v.Unknown), at) {
				t.Errorf("%s, %s: problems %v, unknown %v", name, mode, v.Problems, v.Unknown)
			}
		}
	}
}

func TestAnEssentialCertificateOutsideNameConstraintsBlocksThePlan(t *testing.T) {
	w := newWorld(t)
	constraints()["old networks"].build(t, w, "openshift-etcd", "etcd-peer-sno")
	plan, err := engine(w).Plan(t.Context(), mustConfig(t, w))
	if err != nil || !strings.Contains(fmt.Sprint(plan.Blocked), `outside the name constraints of "constrained"`) {
		t.Errorf("%v, blocked %v", err, plan.Blocked)
	}
	if err := engine(w).Run(t.Context(), configPath); !errors.Is(err, ErrBlocked) {
		t.Error(err)
	}
}
