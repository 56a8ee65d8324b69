package relocation

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	v1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/relocation/v1beta1"
)

// Permitted asks the API server whether this account may watch ClusterRelocations, which the component config/components/relocation
// allows and nothing else does.
func Permitted(ctx context.Context, config *rest.Config) (bool, error) {
	api, err := authorization.NewForConfig(config)
	if err != nil {
		return false, fmt.Errorf("connect to the API: %w", err)
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: v1beta1.GroupVersion.Group, Version: v1beta1.GroupVersion.Version, Resource: "clusterrelocations", Verb: "watch",
		}}}
	answer, err := api.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask for the right to watch clusterrelocations: %w", err)
	}
	return answer.Status.Allowed, nil
}
