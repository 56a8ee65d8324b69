package apitest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Apply creates every object of a file below the top of the module; what is there already may stay. Fields that
// the server does not know are an error.
func (s *Server) Apply(t testing.TB, file string) {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	strict := &client.CreateOptions{Raw: &metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}}
	for docs := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		o := &unstructured.Unstructured{}
		if docs.Decode(&o.Object) != nil {
			return
		}
		if err := s.Client.Create(context.Background(), o, strict); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("apply %s: %s %s: %v", file, o.GetKind(), o.GetName(), err)
		}
	}
}
