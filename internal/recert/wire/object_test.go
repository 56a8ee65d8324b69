package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// stored encodes an object as kube-apiserver does.
func stored(t testing.TB, obj runtime.Object) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(obj, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func decodeInto(t testing.TB, value []byte, into runtime.Object) {
	t.Helper()
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(value[4:]); err != nil {
		t.Fatal(err)
	}
	if err := into.(interface{ Unmarshal([]byte) error }).Unmarshal(unknown.Raw); err != nil {
		t.Fatal(err)
	}
}

func secretObject() *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: "u", Annotations: map[string]string{"a": "one", "b": "two"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "sno"}}},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{"empty": {}, "tls.crt": []byte("old"), "zz": bytes.Repeat([]byte("x"), 300)},
	}
}

func TestEditProtobufTouchesOnlyWhatChanges(t *testing.T) {
	want := secretObject()
	obj, err := NewObject(host.KeyValue{Key: "/k", Value: stored(t, want)})
	if err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(obj.Value)
	if err := obj.Walk(func([]string, string) {}); err != nil || obj.Changed || !bytes.Equal(obj.Value, before) {
		t.Fatalf("walking changed the object (%v)", err)
	}
	long := strings.Repeat("new", 100)
	err = obj.Edit(func(path []string, text string) (string, bool) {
		if reflect.DeepEqual(path, []string{"data", "tls.crt"}) && text == "old" {
			return long, true
		}
		return text, false
	})
	if err != nil || !obj.Changed {
		t.Fatalf("edit: %v, changed %v", err, obj.Changed)
	}
	want.Data["tls.crt"] = []byte(long)
	var got corev1.Secret
	decodeInto(t, obj.Value, &got)
	got.TypeMeta = want.TypeMeta
	got.Data["empty"] = []byte{}
	if !reflect.DeepEqual(&got, want) {
		t.Fatalf("got %+v\nwant %+v", &got, want)
	}
	if reencoded := stored(t, want); !bytes.Equal(obj.Value, reencoded) {
		t.Error("the edited bytes differ from what kube-apiserver would store")
	}
}

func TestEditProtobufReachesNestedTexts(t *testing.T) {
	dep := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "one"}, {Name: "two", Args: []string{"a", "b"}, Env: []corev1.EnvVar{{Name: "N", Value: "v"}}},
		}}}},
	}
	obj, _ := NewObject(host.KeyValue{Key: "/k", Value: stored(t, dep)})
	seen := map[string]string{}
	if err := obj.Walk(func(path []string, text string) { seen[strings.Join(path, "/")] = text }); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"spec/template/spec/containers/1/args/1": "b", "spec/template/spec/containers/1/env/0/value": "v",
		"spec/template/spec/containers/0/name": "one",
	} {
		if seen[path] != text {
			t.Errorf("%s = %q, want %q", path, seen[path], text)
		}
	}
}

func TestEditJSONKeepsOtherBytes(t *testing.T) {
	doc := "{\"b\": [1.50, {\"x\":\"old\"} , \"old\"],\n \"a\":\"caf\\u00e9 <\", \"b2\":{}, \"c\":\"old\"}\n"
	out, err := EditJSON([]byte(doc), func(path []string, text string) (string, bool) {
		return "n\"ew", text == "old" && path[0] == "b"
	})
	want := strings.Replace(strings.Replace(doc, `"x":"old"`, `"x":"n\"ew"`, 1), ` , "old"`, ` , "n\"ew"`, 1)
	if err != nil || string(out) != want {
		t.Fatalf("got %s\nwant %s (%v)", out, want, err)
	}
	if _, err := EditJSON([]byte(`{"a":"b"`), func([]string, string) (string, bool) { return "", false }); err == nil {
		t.Error("half a document was accepted")
	}
}

func TestEditJSONSecretDecodesData(t *testing.T) {
	secret := secretObject()
	value, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	obj, _ := NewObject(host.KeyValue{Key: "/k", Value: value})
	err = obj.Edit(func(path []string, text string) (string, bool) { return "new", text == "old" })
	if err != nil {
		t.Fatal(err)
	}
	var got corev1.Secret
	if err := json.Unmarshal(obj.Value, &got); err != nil || string(got.Data["tls.crt"]) != "new" {
		t.Fatalf("data %q, %v", got.Data["tls.crt"], err)
	}
}

func TestEditYAMLKeepsStyle(t *testing.T) {
	doc := "a: old # note\nb:\n- 'old'\n- \"old\"\n- {ü: old, y: [older, old]}\n"
	out, err := EditYAML(doc, func(_ []string, text string) (string, bool) { return "new!", text == "old" })
	want := "a: new! # note\nb:\n- 'new!'\n- \"new!\"\n- {ü: new!, y: [older, new!]}\n"
	if err != nil || out != want {
		t.Fatalf("got %q\nwant %q (%v)", out, want, err)
	}
	if _, err := EditYAML("a: |\n  old\n", func([]string, string) (string, bool) { return "new", true }); err == nil {
		t.Error("a block scalar was changed in place")
	}
}

func TestNewObjectRefusesWhatItCannotRead(t *testing.T) {
	_, err := NewObject(host.KeyValue{Key: "/kubernetes.io/secrets/ns/s", Value: []byte("k8s:enc:aescbc:v1:key1:xx")})
	if !errors.Is(err, ErrEncrypted) || !strings.Contains(err.Error(), "ns/s") {
		t.Errorf("got %v", err)
	}
}

func FuzzObjectEdit(f *testing.F) {
	f.Add(stored(f, secretObject()))
	f.Add([]byte(`{"kind":"Secret","data":{"a":"b2xk"}}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		obj, err := NewObject(host.KeyValue{Key: "/k", Value: bytes.Clone(value)})
		if err != nil {
			return
		}
		if err := obj.Walk(func([]string, string) {}); err == nil && !bytes.Equal(obj.Value, value) {
			t.Fatal("walking changed the value")
		}
		var before, after []string
		mark := func(at []string) string { return map[bool]string{true: "!"}[at[0] == "data"] } // its kind says what an object is
		note := func(into *[]string, mark func([]string) string) func([]string, string) {
			return func(at []string, text string) { *into = append(*into, strings.ToValidUTF8(text+mark(at), "\uFFFD")) }
		}
		marked := func(at []string, text string) (string, bool) { return text + mark(at), mark(at) != "" }
		if obj.Walk(note(&before, mark)) != nil || obj.Edit(marked) != nil {
			return
		}
		none := func([]string) string { return "" }
		if err := obj.Walk(note(&after, none)); err != nil || !slices.Equal(before, after) {
			t.Fatalf("after an edit the texts are %q, want %q (%v)", after, before, err)
		}
	})
}

func FuzzYAML(f *testing.F) {
	f.Add("a: old\nb: ['old', \"old\"]\n")
	f.Fuzz(func(t *testing.T, doc string) {
		out, err := EditYAML(doc, func(_ []string, text string) (string, bool) { return text, true })
		if err == nil && out != doc {
			t.Fatalf("%q became %q", doc, out)
		}
	})
}
