package recert

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

const (
	apiServerDeployment = "deployments/openshift-apiserver/apiserver"
	configNote          = "operator.openshift.io/dep-openshift-apiserver.config.configmap"
)

// withNotes is a world whose openshift-apiserver was deployed with these annotations, and the plan for it.
func withNotes(t *testing.T, notes map[string]string) (*world, *Plan) {
	t.Helper()
	w := newWorld(t)
	(&builder{t: t, w: w}).object(apiServerDeployment, &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Annotations: notes},
		Spec:       appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: notes}}}})
	plan, err := engine(w).Plan(t.Context(), mustConfig(t, w))
	if err != nil {
		t.Fatal(err)
	}
	return w, plan
}

// hashNow is the hash of a stored object.
func hashNow(t *testing.T, w *world, name string) string {
	t.Helper()
	kv := w.keys[rules.StoragePrefix+name]
	o, err := wire.NewObject(kv)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := rules.ResourceHash(o, kv.Value)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestHashesOfWhatChangesFollow(t *testing.T) {
	before := hashNow(t, newWorld(t), "configmaps/openshift-apiserver/config")
	w, plan := withNotes(t, map[string]string{configNote: before, "operator.openshift.io/spec-hash": "z",
		"operator.openshift.io/dep-openshift-apiserver.etcd-client.secret": "y"})
	if kept := fmt.Sprint(plan.Kept); !strings.Contains(kept, "the hash of its specification") || strings.Contains(kept, "rolls it out") {
		t.Errorf("kept: %s", kept)
	}
	runRecert(t, w)
	want := hashNow(t, w, "configmaps/openshift-apiserver/config")
	if want == before {
		t.Fatal("the config did not change, so this shows nothing")
	}
	texts := worldTexts(t, w)
	for _, at := range []string{" metadata/annotations/", " spec/template/metadata/annotations/"} {
		at = rules.StoragePrefix + apiServerDeployment + at
		if texts[at+configNote] != want {
			t.Errorf("%s is %q, want %q", at+configNote, texts[at+configNote], want)
		}
		if texts[at+"operator.openshift.io/dep-openshift-apiserver.etcd-client.secret"] != "y" || texts[at+"operator.openshift.io/spec-hash"] != "z" {
			t.Errorf("another annotation of %s changed", at)
		}
	}
}

// A hash that is taken otherwise than here says nothing that could be brought up to date.
func TestHashesOfAnotherKindAreListed(t *testing.T) {
	w, plan := withNotes(t, map[string]string{configNote: "x"})
	why := "its operator rolls it out once more: its hash of configmaps/openshift-apiserver/config is from before the change"
	if strings.Count(fmt.Sprint(plan.Kept), why) != 1 {
		t.Errorf("kept: %v", plan.Kept)
	}
	runRecert(t, w)
	if got := worldTexts(t, w)[rules.StoragePrefix+apiServerDeployment+" metadata/annotations/"+configNote]; got != "x" {
		t.Errorf("the hash is %s", got)
	}
}

// The hashes are those of the JSON texts beside them, with a line's end, by an FNV-1 written apart from this one.
func TestHashIsThatOfLibraryGo(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	b.json("configmaps/ns/c", map[string]any{"kind": "ConfigMap", "data": map[string]any{"a": "<1>", "b": ""}})
	b.secret("ns", "s", map[string]string{"k": "v"})
	for name, want := range map[string]string{
		"configmaps/ns/c": "pMG8Zw==", // {"a":"\u003c1\u003e","b":""}
		"secrets/ns/s":    "nOP7Pw==", // {"k":"dg=="}
	} {
		if got := hashNow(t, w, name); got != want {
			t.Errorf("the hash of %s is %s, want %s", name, got, want)
		}
	}
}
