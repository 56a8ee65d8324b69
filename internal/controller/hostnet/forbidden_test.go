package hostnet

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// On a cluster with its own nodes the operator has no right to Secrets until it is given one: one event says how, whether the owner has
// a base config, which is read, or none.
func TestSecretsThatAreForbiddenAreReported(t *testing.T) {
	api := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewForbidden(corev1.Resource("secrets"), key.Name, nil)
		},
	}).Build()
	for name, annotations := range map[string]map[string]string{"with a base": {BaseAnnotation: "worker"}, "without": nil} {
		t.Run(name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(9)
			r := &Reconciler{Client: api, Reader: api, Events: recorder, Log: slog.New(slog.DiscardHandler)}
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(HostKind())
			o.SetNamespace("machines")
			o.SetName("host-0")
			o.SetAnnotations(annotations)
			require.True(t, apierrors.IsForbidden(r.publishSecret(t.Context(), o, &host{}, nil)))
			require.Len(t, recorder.Events, 1)
			event := <-recorder.Events
			require.Contains(t, event, "Warning SecretForbidden")
			require.Contains(t, event, "bind ClusterRole lifecycle-agent-operator-machine-secrets in namespace machines")
		})
	}
}
