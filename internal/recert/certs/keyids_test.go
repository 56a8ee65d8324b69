package certs

import (
	"bytes"
	"crypto/sha1"
	"crypto/x509"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
)

func TestKeyIdentifiersAreMadeTheSameWay(t *testing.T) {
	old, fresh := clustertest.NewKey(t, "rsa"), clustertest.NewKey(t, "rsa")
	oldInfo, _ := x509.MarshalPKIXPublicKey(old.Public())
	freshInfo, _ := x509.MarshalPKIXPublicKey(fresh.Public())
	for i, method := range keyIDs() {
		got, err := likeKeyID(method(oldInfo, old.Public()), oldInfo, old.Public(), freshInfo, fresh.Public())
		if want := method(freshInfo, fresh.Public()); err != nil || !bytes.Equal(got, want) {
			t.Errorf("method %d: %x, want %x, %v", i, got, want, err)
		}
	}
	sum := sha1.Sum(keyBits(freshInfo)) // a key identifier
	if got, err := likeKeyID([]byte("made otherwise"), oldInfo, old.Public(), freshInfo, fresh.Public()); err != nil || !bytes.Equal(got, sum[:]) {
		t.Errorf("unknown method: %x, %v", got, err)
	}
}
