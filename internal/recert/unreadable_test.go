package recert

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// brokenLeaf names the old address, and has a version that X.509 does not know.
func brokenLeaf(t *testing.T, w *world) string {
	t.Helper()
	der := clustertest.Leaf(t, etcdSigner(t, w), "p256", "peer", oldV4).Cert.Raw
	return clustertest.PEMText("CERTIFICATE", bytes.Replace(der, []byte{0xa0, 3, 2, 1, 2}, []byte{0xa0, 3, 2, 1, 9}, 1))
}

func TestACertificateThatCannotBeReadIsNotPassedOver(t *testing.T) {
	const why = "data/tls.crt names an old address or name in a certificate that cannot be read: x509: "
	for name, essential := range map[string]bool{"openshift-etcd/etcd-peer-b": true, "ns/own": false} {
		w := newWorld(t)
		explicit(t, w)
		ns, object, _ := strings.Cut(name, "/")
		(&builder{t: t, w: w}).secret(ns, object, map[string]string{"tls.crt": brokenLeaf(t, w), "tls.key": ""})
		plan, err := engine(w).Plan(t.Context(), mustConfig(t, w))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(fmt.Sprint(map[bool][]inspect.Note{true: plan.Blocked, false: plan.Kept}[essential]), name+" "+why) {
			t.Errorf("%s: kept %v, blocked %v", name, plan.Kept, plan.Blocked)
		}
		if err := engine(w).Run(t.Context(), configPath); errors.Is(err, ErrBlocked) != essential {
			t.Errorf("%s: the run ended with %v", name, err)
		}
		v := verified(t, w)
		if !strings.Contains(fmt.Sprint(map[bool][]inspect.Note{true: v.Problems, false: v.Unknown}[essential]), name+" "+why) {
			t.Errorf("%s: problems %v, unknown %v", name, v.Problems, v.Unknown)
		}
	}
}

// Lines before the digits (RFC 1421) hide nothing and stay.
func TestPEMWithHeadersIsSignedAgain(t *testing.T) {
	w := newWorld(t)
	leaf := clustertest.Leaf(t, etcdSigner(t, w), "p256", "peer", oldV4)
	const begin, headers = "-----BEGIN CERTIFICATE-----\n", "Comment: of before\n\n"
	(&builder{t: t, w: w}).secret("openshift-etcd", "etcd-peer-b",
		map[string]string{"tls.crt": strings.Replace(leaf.CertPEM, begin, begin+headers, 1), "tls.key": leaf.KeyPEM})
	runRecert(t, w)
	const at = rules.StoragePrefix + "secrets/openshift-etcd/etcd-peer-b data/tls.crt"
	text := worldTexts(t, w)[at]
	if certs := certificatesOf(t, text); len(certs) != 1 || certs[0].VerifyHostname(newV4) != nil || !strings.HasPrefix(text, begin+headers+"MII") {
		t.Errorf("it became\n%s", text)
	}
}
