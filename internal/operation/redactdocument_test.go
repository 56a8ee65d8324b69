package operation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// TestSecretsOfDocumentsAreBlankedElsewhere: of key files, YAML, JSON, JSON in either of them, and files that are a secret.
func TestSecretsOfDocumentsAreBlankedElsewhere(t *testing.T) {
	var r operation.Redactor
	for _, document := range []string{
		"[wifi-security]\nkey-mgmt=wpa-psk\npsk=horse battery\n", "kubeadminPassword: staple-7\n", "[macsec]\nmka-cak=50b71a8e\n", `{"a":{"token":"correct-9"}}`,
		`pullSecret: '{"auths":{"r":{"auth":"inner-yaml"}}}'`, `{"pullSecret":"{\"auths\":{\"r\":{\"auth\":\"inner-json\"}}}"}`,
	} {
		r.LearnDocument([]byte(document))
	}
	r.LearnSecret([]byte("whole-file\nsecond-line\n"))
	for _, secret := range []string{"horse battery", "staple-7", "50b71a8e", "correct-9", "inner-yaml", "inner-json", "whole-file", "second-line"} {
		require.Equal(t, "said [redacted] twice", r.Text("said "+secret+" twice"), secret)
	}
	require.Equal(t, "wpa-psk is a method", r.Text("wpa-psk is a method"))
}
