package recert

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// kube-apiserver and its siblings may encrypt any resource. A scan says what it could not read, whatever the resource.
func TestScanCountsWhatItCannotRead(t *testing.T) {
	w := newWorld(t)
	explicit(t, w)
	runRecert(t, w)
	seal := func(key string) {
		w.keys[key] = host.KeyValue{Key: key, Value: []byte("k8s:enc:aescbc:v1:1:xxxx"), ModRevision: 1}
	}
	want := map[string]int{"secrets": 1, "routes.route.openshift.io": 2, "oauthaccesstokens.oauth.openshift.io": 3,
		"oauthauthorizetokens.oauth.openshift.io": 1, "oauthclients.oauth.openshift.io": 1, "users.openshift.io": 1, "things.example.com": 2, "deployments": 1}
	for _, key := range []string{"/kubernetes.io/secrets/ns/sealed", "/openshift.io/routes/ns/a", "/openshift.io/routes/ns/b",
		"/openshift.io/oauth/accesstokens/sha256~a", "/openshift.io/oauth/accesstokens/sha256~b", "/openshift.io/oauth/accesstokens/sha256~c",
		"/openshift.io/oauth/authorizetokens/sha256~a", "/openshift.io/oauth/clients/console", "/openshift.io/users/a",
		"/kubernetes.io/example.com/things/ns/a", "/kubernetes.io/example.com/things/b", "/kubernetes.io/deployments/ns/x", "/kubernetes.io/events/ns/x"} {
		seal(key)
	}
	inventory, err := engine(w).Scan(t.Context(), mustConfig(t, w))
	if err != nil || !maps.Equal(inventory.Unread, want) {
		t.Errorf("%v, unread %v", err, inventory.Unread)
	}
	v := verified(t, w)
	if len(v.Problems) != 1 || v.Problems[0].Where != "secrets" {
		t.Errorf("problems %v", v.Problems)
	}
	for _, said := range []string{"routes.route.openshift.io 2 stored objects are encrypted at rest and cannot be read",
		"users.openshift.io 1 stored object is encrypted at rest and cannot be read"} {
		if !strings.Contains(fmt.Sprint(v.Unknown), said) {
			t.Errorf("unknown %v", v.Unknown)
		}
	}
}

// An object of the aggregated API servers mentions an old address as any other does.
func TestScanReadsTheAggregatedAPIServersObjects(t *testing.T) {
	w := newWorld(t)
	key := "/openshift.io/routes/ns/r"
	w.keys[key] = host.KeyValue{Key: key, Value: []byte(`{"kind":"Route","spec":{"host":"` + oldV4 + `"}}`), ModRevision: 1}
	inventory, err := engine(w).Scan(t.Context(), mustConfig(t, w))
	if err != nil || !strings.Contains(fmt.Sprint(inventory.Leftovers), key+" spec/host mentions "+oldV4) {
		t.Errorf("%v, mentions %v", err, inventory.Leftovers)
	}
}
