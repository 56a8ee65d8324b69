package clustertest

import (
	"testing"
)

func TestATestHasNoKeyTwice(t *testing.T) {
	first := NewKey(t, "rsa")
	if first == NewKey(t, "rsa") {
		t.Fatal("the same key twice")
	}
	t.Run("inside", func(t *testing.T) {
		if first == NewKey(t, "rsa") {
			t.Fatal("a key of the test around this one")
		}
	})
}
