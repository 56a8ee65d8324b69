package seedgen

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Account is the service account that may read the Secrets of a SeedGenerator. The agents of all nodes share an account,
// which may not; the API server gives the agent of the serving node a token of this one.
const Account = "lifecycle-agent-seed"

// accountToken is how long a token of the account lasts, in seconds: the least that the API server gives.
const accountToken = 600

// AsAccount returns a function that reads Secrets of the agent's namespace as Account. It requests a token for each, with api.
func AsAccount(config *rest.Config, api client.Client) func(ctx context.Context, name string) (*corev1.Secret, error) {
	return func(ctx context.Context, name string) (*corev1.Secret, error) {
		seconds := int64(accountToken)
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Account}}
		if err := api.SubResource("token").Create(ctx, account, request); err != nil {
			return nil, fmt.Errorf("request a token of service account %s/%s: %w", Namespace, Account, err)
		}
		as := rest.AnonymousClientConfig(config)
		as.BearerToken = request.Status.Token
		reader, err := client.New(as, client.Options{Scheme: api.Scheme(), Mapper: api.RESTMapper()})
		if err != nil {
			return nil, fmt.Errorf("connect as service account %s/%s: %w", Namespace, Account, err)
		}
		s := &corev1.Secret{}
		return s, reader.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, s)
	}
}
