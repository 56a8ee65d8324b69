package recert

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

func mapping(t testing.TB, pairs ...string) replace.Mapping {
	t.Helper()
	var changes []replace.Address
	for _, p := range pairs {
		from, to, _ := strings.Cut(p, ">")
		changes = append(changes, replace.Address{Old: netip.MustParseAddr(from), New: netip.MustParseAddr(to)})
	}
	m, err := replace.NewMapping(changes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// stored encodes an object as kube-apiserver does.
func stored(t testing.TB, obj runtime.Object) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(obj, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
