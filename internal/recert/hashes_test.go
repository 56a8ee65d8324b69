package recert

import (
	"encoding/base64"
	"slices"
	"testing"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

func TestHashOfTheAuthorityIsFollowed(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	ca := clustertest.Authority(t, "olm-selfsigned-1", "p256")
	leaf := clustertest.Leaf(t, ca, "p256", "packageserver")
	b.json(rules.PackageServer, map[string]any{"kind": "APIService", "spec": map[string]any{"caBundle": base64.StdEncoding.EncodeToString([]byte(ca.CertPEM))}})
	b.secret("openshift-operator-lifecycle-manager", "packageserver-service-cert", map[string]string{"tls.crt": leaf.CertPEM, "tls.key": leaf.KeyPEM, "olmCAKey": ca.KeyPEM},
		rules.OlmHashAnnotation, rules.HashText(ca.CertPEM))
	withConfig(t, w, noMove(map[string]any{"extend_expiration": true}))
	runAt(t, w, testTime.Add(48*3600e9))
	texts := worldTexts(t, w)
	bundle := texts[rules.StoragePrefix+rules.PackageServer+" spec/caBundle"]
	if bundle == ca.CertPEM {
		t.Fatal("the authority was not signed again")
	}
	if got := texts[rules.StoragePrefix+rules.PackageServerCert+" metadata/annotations/olmcahash"]; got != rules.HashText(bundle) {
		t.Errorf("the hash is %s, of the bundle %s", got, rules.HashText(bundle))
	}
}

// The notes that follow a certificate are changes too, and a plan names every one.
func TestPlanNamesTheNotesThatFollow(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	ca := clustertest.Authority(t, "olm-selfsigned-1", "p256")
	leaf := clustertest.Leaf(t, ca, "p256", "packageserver")
	b.json(rules.PackageServer, map[string]any{"kind": "APIService",
		"spec": map[string]any{"caBundle": base64.StdEncoding.EncodeToString([]byte(ca.CertPEM))}})
	b.secret("openshift-operator-lifecycle-manager", "packageserver-service-cert",
		map[string]string{"tls.crt": leaf.CertPEM, "tls.key": leaf.KeyPEM, "olmCAKey": ca.KeyPEM},
		rules.OlmHashAnnotation, rules.HashText(ca.CertPEM), "auth.openshift.io/certificate-not-after", "x")
	withConfig(t, w, noMove(map[string]any{"extend_expiration": true}))
	later := New(Ports{Keystore: w, Files: w, Clock: func() time.Time { return testTime.Add(48 * time.Hour) }})
	plan, err := later.Plan(t.Context(), mustConfig(t, w))
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range []string{rules.OlmHashAnnotation, "auth.openshift.io/certificate-not-after"} {
		at := rules.StoragePrefix + rules.PackageServerCert + " metadata/annotations/" + note
		if !slices.ContainsFunc(plan.Changes, func(c inspect.Change) bool { return c.Where == at && c.Kind == inspect.Rewrite }) {
			t.Errorf("the plan does not name %s", at)
		}
	}
}
