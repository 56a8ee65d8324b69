package cluster

import (
	"context"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// EncryptionAtRest is the type with which APIServer "cluster" has values encrypted in etcd; empty where they are
// stored in plain.
func EncryptionAtRest(ctx context.Context, r client.Reader) (string, error) {
	var server configv1.APIServer
	err := r.Get(ctx, client.ObjectKey{Name: "cluster"}, &server)
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
