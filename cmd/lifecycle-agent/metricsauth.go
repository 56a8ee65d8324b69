package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// byRBAC lets through requests whose bearer token belongs to a user that may get the path, as the API server judges both.
// controller-runtime's own filter does the same and adds 30 MB of kube-apiserver to the program.
func byRBAC(config *rest.Config, client *http.Client) (server.Filter, error) {
	users, err := authentication.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make a client for token reviews: %w", err)
	}
	rights, err := authorization.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make a client for access reviews: %w", err)
	}
	g := guard{users.TokenReviews(), rights.SubjectAccessReviews()}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if status, err := g.authorize(r); status != http.StatusOK {
				log.Error(err, "metrics request refused", "status", status)
				http.Error(w, http.StatusText(status), status)
				return
			}
			next.ServeHTTP(w, r)
		}), nil
	}, nil
}

type guard struct {
	tokens authentication.TokenReviewInterface
	access authorization.SubjectAccessReviewInterface
}

// authorize returns StatusOK or the answer to a request that is refused.
func (g guard) authorize(r *http.Request) (int, error) {
	token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		return http.StatusUnauthorized, nil
	}
	user, err := g.reviewToken(r.Context(), token)
	if err != nil {
		return http.StatusInternalServerError, err
	}
	if user == nil {
		return http.StatusUnauthorized, nil
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: r.URL.Path, Verb: strings.ToLower(r.Method)},
	}}
	for key, value := range user.Extra {
		review.Spec.Extra[key] = authorizationv1.ExtraValue(value)
	}
	review, err = g.access.Create(r.Context(), review, metav1.CreateOptions{})
	if err != nil {
		return http.StatusInternalServerError, fmt.Errorf("review the access of %s to %s: %w", user.Username, r.URL.Path, err)
	}
	if !review.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}

// reviewToken is whose token it is; nil if the API server does not accept it.
func (g guard) reviewToken(ctx context.Context, token string) (*authenticationv1.UserInfo, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	review, err := g.tokens.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("review the token of a metrics request: %w", err)
	}
	if !review.Status.Authenticated {
		return nil, nil // no error: the answer is that there is no such user
	}
	return &review.Status.User, nil
}
