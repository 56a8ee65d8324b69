package wire

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// storedCBOR encodes an object as a kube-apiserver does that stores CBOR.
func storedCBOR(t testing.TB, obj runtime.Object) []byte {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := cbor.NewSerializer(scheme, scheme).Encode(obj, &out); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(out.Bytes(), cborMagic) {
		t.Fatalf("the encoder wrote %x", out.Bytes()[:8])
	}
	return out.Bytes()
}

func TestEditCBORTouchesOnlyWhatChanges(t *testing.T) {
	content := func(text string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "x/v1", "kind": "X", "metadata": map[string]any{"name": "n"},
			"spec": map[string]any{"n": int64(1 << 40), "neg": int64(-3), "f": 1.5, "b": true, "nil": nil, "list": []any{"a", text, map[string]any{"deep": text}}, "zz": "end"}}}
	}
	for _, long := range []int{1, 23, 24, 255, 256, 65536} {
		fresh := strings.Repeat("n", long)
		obj, err := NewObject(host.KeyValue{Key: "/k", Value: storedCBOR(t, content("old"))})
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		err = obj.Edit(func(path []string, text string) (string, bool) {
			if text == "old" {
				seen = append(seen, strings.Join(path, "/"))
			}
			return fresh, text == "old"
		})
		if err != nil || !obj.Changed || !bytes.Equal(obj.Value, storedCBOR(t, content(fresh))) {
			t.Fatalf("%d bytes: %v, changed %v: the bytes are not what kube-apiserver would store", long, err, obj.Changed)
		}
		if want := []string{"spec/list/1", "spec/list/2/deep"}; !reflect.DeepEqual(seen, want) {
			t.Fatalf("saw %v", seen)
		}
	}
}

func TestEditCBORSecretShowsData(t *testing.T) {
	secret := secretObject()
	obj, _ := NewObject(host.KeyValue{Key: "/k", Value: storedCBOR(t, secret)})
	err := obj.Edit(func(path []string, text string) (string, bool) {
		return "new", reflect.DeepEqual(path, []string{"data", "tls.crt"}) && text == "old"
	})
	secret.Data["tls.crt"] = []byte("new")
	if err != nil || !bytes.Equal(obj.Value, storedCBOR(t, secret)) {
		t.Fatalf("the edited bytes differ from what kube-apiserver would store (%v)", err)
	}
}

func TestEditCBORRefuses(t *testing.T) {
	for name, doc := range map[string]string{
		"nothing": "", "cut short": "\xa1\x41", "indefinite": "\xbf\xff", "number as key": "\xa1\x01\x01", "a second item": "\x01\x01",
		"length beyond the end": "\x5b\xff\xff\xff\xff\xff\xff\xff\xff", "too deep": strings.Repeat("\x81", 1000) + "\x01",
	} {
		if _, err := editCBOR([]byte(doc), func([]string, string) (string, bool) { return "", false }); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func FuzzCBOR(f *testing.F) {
	f.Add(storedCBOR(f, secretObject())[3:])
	f.Add([]byte("\xa1\x41a\x82\x61b\xd6\x43xyz"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		same, err := editCBOR(doc, func([]string, string) (string, bool) { return "", false })
		if err != nil {
			return
		}
		if !bytes.Equal(same, doc) {
			t.Fatal("visiting changed the document")
		}
		marked, err := editCBOR(doc, func(_ []string, text string) (string, bool) { return text + "!", true })
		if err != nil {
			t.Fatalf("a readable document could not be edited: %v", err)
		}
		back, err := editCBOR(marked, func(_ []string, text string) (string, bool) {
			plain, ok := strings.CutSuffix(text, "!")
			if !ok {
				t.Fatalf("a text was not edited: %q", text)
			}
			return plain, true
		})
		if err != nil {
			t.Fatalf("the edited document cannot be read: %v", err)
		}
		if n, _ := editCBOR(back, func(_ []string, text string) (string, bool) { return text, true }); !bytes.Equal(n, back) {
			t.Fatal("editing is not stable")
		}
	})
}
