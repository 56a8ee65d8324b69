package clustertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// object stores an object of a built-in kind, in one of the encodings.
func (m *maker) object(key string, obj runtime.Object) {
	switch m.rand("encoding " + m.anonymous(key)).IntN(8) {
	case 0:
		m.store(key, asJSON(obj))
	case 1, 2:
		m.store(key, asCBOR(obj))
	case 3:
		m.store(key, withUnknownFields(asProtobuf(obj)))
	default:
		m.store(key, asProtobuf(obj))
	}
}

// custom stores an object of a kind that a CustomResourceDefinition defines.
func (m *maker) custom(key string, obj map[string]any) {
	if m.rand("encoding "+m.anonymous(key)).IntN(2) == 0 {
		m.store(key, asCBOR(&unstructured.Unstructured{Object: roundTrip(obj)}))
		return
	}
	m.store(key, asJSON(obj))
}

// anonymous is a key as it would be if the node had never been renamed.
func (m *maker) anonymous(key string) string {
	return strings.ReplaceAll(key, m.site.Node, m.site.Known)
}

func (m *maker) store(key string, value []byte) { m.out.Keys[Prefix+key] = value }

func asJSON(obj any) []byte {
	out, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	return append(out, '\n')
}

func asProtobuf(obj runtime.Object) []byte {
	var out bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(obj, &out); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func asCBOR(obj runtime.Object) []byte {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, admissionv1.AddToScheme, coordinationv1.AddToScheme, discoveryv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	var out bytes.Buffer
	if err := cbor.NewSerializer(scheme, scheme).Encode(obj, &out); err != nil {
		panic(fmt.Sprintf("encode %T: %v", obj, err))
	}
	return out.Bytes()
}

// roundTrip gives a map the types that the encoder of unstructured objects accepts.
func roundTrip(obj map[string]any) map[string]any {
	var out map[string]any
	if err := json.Unmarshal(asJSON(obj), &out); err != nil {
		panic(err)
	}
	return out
}

// withUnknownFields adds fields that a later version of the kind may have, between and after those it has.
func withUnknownFields(value []byte) []byte {
	const magic = 4
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(value[magic:]); err != nil {
		panic(err)
	}
	later := protowire.AppendTag(nil, 1000, protowire.BytesType)
	later = protowire.AppendString(later, "a field of a later version of 192.0.2.1")
	number := protowire.AppendVarint(protowire.AppendTag(nil, 900, protowire.VarintType), 1<<40)
	envelope.Raw = append(append(number, envelope.Raw...), later...)
	out, err := envelope.Marshal()
	if err != nil {
		panic(err)
	}
	return append(bytes.Clone(value[:magic]), out...)
}

func (m *maker) secret(ns, name string, data map[string]string, annotations map[string]string) {
	s := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Annotations: annotations}, Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	m.object("secrets/"+ns+"/"+name, s)
}

func (m *maker) tls(ns, name string, p *Pair, chain ...*Pair) {
	crt := p.CertPEM
	for _, c := range chain {
		crt += c.CertPEM
	}
	m.secret(ns, name, map[string]string{"tls.crt": crt, "tls.key": p.KeyPEM}, nil)
}

func (m *maker) configMap(ns, name string, data map[string]string) {
	m.object("configmaps/"+ns+"/"+name, &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Data: data})
}
