package recert

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
)

// BenchmarkPlan plans over a store of a real node's size: 1500 ConfigMaps, of which 150 carry the CA bundle that
// OpenShift injects (some 200 KiB each), 1500 Secrets with a leaf and its key, 500 files.
func BenchmarkPlan(b *testing.B) {
	w := newWorld(b)
	build := &builder{t: b, w: w}
	ca := clustertest.Authority(b, "service-ca", "p256")
	var bundle strings.Builder
	for i := range 140 {
		fmt.Fprintf(&bundle, "# Authority %d\n%s", i, clustertest.Authority(b, fmt.Sprintf("ca %d", i), "p256").CertPEM)
		bundle.WriteString(strings.Repeat("# padding to the size of an RSA certificate\n", 20))
	}
	for i := range 1500 {
		data := map[string]string{"config.yaml": strings.Repeat("key: value of 10.0.0.1 and fd00::1, as configurations go\n", 40)}
		if i%10 == 0 {
			data["ca-bundle.crt"] = bundle.String()
		}
		build.configMap("bench", fmt.Sprintf("cm-%d", i), data)
		leaf := clustertest.Leaf(b, ca, "p256", fmt.Sprintf("service %d", i), "service.bench.svc")
		build.secret("bench", fmt.Sprintf("tls-%d", i), map[string]string{"tls.crt": leaf.CertPEM + ca.CertPEM, "tls.key": leaf.KeyPEM})
		if i%3 == 0 {
			build.file(fmt.Sprintf("%skube-apiserver-pod-%d/secrets/x/tls.crt", res, i), leaf.CertPEM+ca.CertPEM)
		}
	}
	size := 0
	for _, kv := range w.keys {
		size += len(kv.Value)
	}
	cfg := mustConfig(b, w)
	b.SetBytes(int64(size))
	b.ResetTimer()
	for b.Loop() {
		if _, err := engine(w).Plan(b.Context(), cfg); err != nil {
			b.Fatal(err)
		}
	}
}
