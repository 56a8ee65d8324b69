package recert

import (
	"encoding/base64"
	"slices"
	"testing"
	"time"
)

func TestHashOfTheAuthorityIsFollowed(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	ca := authority(t, "olm-selfsigned-1", "p256")
	leaf := leafOf(t, ca, "p256", "packageserver")
	b.json(packageServer, map[string]any{"kind": "APIService", "spec": map[string]any{"caBundle": base64.StdEncoding.EncodeToString([]byte(ca.certPEM))}})
	b.secret("openshift-operator-lifecycle-manager", "packageserver-service-cert", map[string]string{"tls.crt": leaf.certPEM, "tls.key": leaf.keyPEM, "olmCAKey": ca.keyPEM},
		olmHashAnnotation, hashText(ca.certPEM))
	withConfig(t, w, noMove(map[string]any{"extend_expiration": true}))
	runAt(t, w, testTime.Add(48*3600e9))
	texts := worldTexts(t, w)
	bundle := texts[storagePrefix+packageServer+" spec/caBundle"]
	if bundle == ca.certPEM {
		t.Fatal("the authority was not signed again")
	}
	if got := texts[storagePrefix+packageServerCert+" metadata/annotations/olmcahash"]; got != hashText(bundle) {
		t.Errorf("the hash is %s, of the bundle %s", got, hashText(bundle))
	}
}

// The notes that follow a certificate are changes too, and a plan names every one.
func TestPlanNamesTheNotesThatFollow(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	ca := authority(t, "olm-selfsigned-1", "p256")
	leaf := leafOf(t, ca, "p256", "packageserver")
	b.json(packageServer, map[string]any{"kind": "APIService",
		"spec": map[string]any{"caBundle": base64.StdEncoding.EncodeToString([]byte(ca.certPEM))}})
	b.secret("openshift-operator-lifecycle-manager", "packageserver-service-cert",
		map[string]string{"tls.crt": leaf.certPEM, "tls.key": leaf.keyPEM, "olmCAKey": ca.keyPEM},
		olmHashAnnotation, hashText(ca.certPEM), "auth.openshift.io/certificate-not-after", "x")
	withConfig(t, w, noMove(map[string]any{"extend_expiration": true}))
	later := New(Ports{Keystore: w, Files: w, Clock: func() time.Time { return testTime.Add(48 * time.Hour) }})
	plan, err := later.Plan(t.Context(), mustConfig(t, w))
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range []string{olmHashAnnotation, "auth.openshift.io/certificate-not-after"} {
		at := storagePrefix + packageServerCert + " metadata/annotations/" + note
		if !slices.ContainsFunc(plan.Changes, func(c Change) bool { return c.Where == at && c.Kind == Rewrite }) {
			t.Errorf("the plan does not name %s", at)
		}
	}
}
