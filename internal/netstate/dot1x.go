package netstate

import (
	"path"
	"reflect"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// Dot1X is how a card authenticates itself to its switch (IEEE 802.1X). A document gives all of it: an empty one takes it away.
type Dot1X struct {
	Identity           string   `json:"identity,omitempty"`
	EAPMethods         []string `json:"eap-methods,omitzero"`
	PrivateKey         string   `json:"private-key,omitempty"`
	PrivateKeyPassword string   `json:"private-key-password,omitempty" secret:"true"`
	ClientCert         string   `json:"client-cert,omitempty"`
	CACert             string   `json:"ca-cert,omitempty"`
	Phase2Auth         string   `json:"phase2-auth,omitempty"`
	Password           string   `json:"password,omitempty" secret:"true"`
}

// Files are those of the node that the authentication reads, by their keys.
func (a Dot1X) Files() map[string]string {
	out := map[string]string{"private-key": a.PrivateKey, "client-cert": a.ClientCert, "ca-cert": a.CACert}
	for key, file := range out {
		if file == "" {
			delete(out, key)
		}
	}
	return out
}

// IsEmpty says that there is no authentication.
func (a *Dot1X) IsEmpty() bool { return a == nil || reflect.ValueOf(*a).IsZero() }

// mergeDot1X is the authentication after want was applied to have.
func mergeDot1X(have, want *Dot1X) *Dot1X {
	switch {
	case want == nil:
		return have
	case want.IsEmpty():
		return nil
	}
	return want
}

// changedDot1X is what to say to make have into want; nil for nothing.
func changedDot1X(have, want *Dot1X) *Dot1X {
	if have.IsEmpty() && want.IsEmpty() {
		return nil
	}
	if want.IsEmpty() {
		return &Dot1X{}
	}
	if have == nil {
		return want
	}
	if reflect.ValueOf(tree.Changed(*want, *have)).IsZero() && len(tree.Missing(*have, *want)) == 0 {
		return nil
	}
	return want
}

// compareDot1X finds what a card has beyond an authentication that the document gives.
func (c *comparison) compareDot1X(want, got Interface) {
	if want.Dot1X == nil || got.Dot1X == nil {
		return
	}
	for _, m := range tree.Missing(*got.Dot1X, *want.Dot1X) {
		if key := "802.1x." + m.Path; m.Unknown {
			c.addMismatch(got.Name, want.keyPath(key), "nothing", m.Want, "interface %s has %s %s, not nothing", got.Name, key, m.Want)
		}
	}
}

// eapMethods are those of NetworkManager (nm-settings-dbus(5), setting 802-1x).
var eapMethods = []string{"leap", "md5", "tls", "peap", "ttls", "sim", "fast", "pwd", "external"}

func (v *validator) checkDot1X(i Interface, a Dot1X) {
	if a.IsEmpty() {
		return
	}
	if len(a.EAPMethods) == 0 {
		v.at = i.keyPath("802.1x.eap-methods")
		v.addProblem("is missing; a document gives the whole of 802.1x, and {} takes it away")
	}
	for _, method := range a.EAPMethods {
		v.checkOneOf(i, "802.1x.eap-methods", method, eapMethods...)
	}
	for key, file := range a.Files() {
		if v.at = i.keyPath("802.1x." + key); !path.IsAbs(file) {
			v.addProblem("%q is not the path of a file on the node, such as /etc/pki/switch.crt", file)
		}
	}
	v.at = i.keyPath("802.1x")
	switch {
	case a.Identity == "":
		v.addProblem("identity is missing")
	case slices.Contains(a.EAPMethods, "tls") && (a.PrivateKey == "" || a.ClientCert == ""):
		v.addProblem("eap method tls needs private-key and client-cert")
	case a.PrivateKey == "" && a.Password == "" && !slices.Contains(a.EAPMethods, "external"):
		v.addProblem("password is missing")
	}
}
