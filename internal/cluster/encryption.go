package cluster

import (
	"context"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// EncryptionAtRest is the type with which APIServer "cluster" has values encrypted in etcd; empty where they are
// stored in plain.
func EncryptionAtRest(ctx context.Context, r kube.Reader) (string, error) {
	var server configv1.APIServer
	err := r.Get(ctx, kube.Key{Name: "cluster"}, &server)
	if notServed(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("get apiserver cluster: %w", err)
	}
	if server.Spec.Encryption.Type == configv1.EncryptionTypeIdentity {
		return "", nil
	}
	return string(server.Spec.Encryption.Type), nil
}
