package recert

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"flag"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd/etcdtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
)

var update = flag.Bool("update", false, "write the golden files anew")

var built = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// identity is a certificate with its key. Keys follow from the name and Ed25519 signs without chance, so that
// the same cluster comes out every time.
type identity struct {
	cert *x509.Certificate
	key  ed25519.PrivateKey
}

func keyNamed(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func identityOf(t *testing.T, name string, parent *identity, addresses ...string) *identity {
	t.Helper()
	own := &identity{key: keyNamed(name)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(name))), Subject: pkix.Name{CommonName: name}, NotBefore: built, NotAfter: built.AddDate(3, 0, 0),
		IsCA: parent == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	for _, a := range addresses {
		template.DNSNames = append(template.DNSNames, a)
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(a))
	}
	if parent == nil {
		parent = &identity{template, own.key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.cert, own.key.Public(), parent.key)
	require.NoError(t, err)
	own.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	return own
}

func (i *identity) certPEM() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.cert.Raw}))
}

func (i *identity) keyPEM(t *testing.T) string {
	der, err := x509.MarshalPKCS8PrivateKey(i.key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// cluster is a stopped node below a root of its own, with a real etcd's data.
type cluster struct {
	t       *testing.T
	root    string
	binary  string
	answers bytes.Buffer
	locked  int
	running error
	// asked is what the last verb asked for.
	asked Source
}

const podOfEtcd = "spec:\n  containers:\n  - name: etcd\n    env:\n    - name: NODE_sno_IP\n      value: 192.0.2.1\n"

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, root: t.TempDir(), binary: etcdtest.Binary(t)}
	signer := identityOf(t, "etcd-signer", nil)
	peer := identityOf(t, "system:etcd-peer:sno", signer, "127.0.0.1", "192.0.2.1")
	user := identityOf(t, "registry", identityOf(t, "somebody else's", nil), "192.0.2.9")
	keys := map[string]string{}
	put := func(key string, object any) {
		text, err := json.Marshal(object)
		require.NoError(t, err)
		keys["/kubernetes.io/"+key] = string(text)
	}
	kind := func(k string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "v1", Kind: k} }
	secret := func(ns, name string, i *identity) {
		put("secrets/"+ns+"/"+name, corev1.Secret{TypeMeta: kind("Secret"),
			Data: map[string][]byte{"tls.crt": []byte(i.certPEM()), "tls.key": []byte(i.keyPEM(t))}})
	}
	secret("openshift-etcd", "etcd-signer", signer)
	secret("openshift-etcd", "etcd-peer-sno", peer)
	secret("ns", "registry", user)
	put("configmaps/openshift-etcd/etcd-endpoints", corev1.ConfigMap{TypeMeta: kind("ConfigMap"), Data: map[string]string{"MTky": "192.0.2.1"}})
	put("configmaps/ns/notes", corev1.ConfigMap{TypeMeta: kind("ConfigMap"),
		Data: map[string]string{"note": "the node is 192.0.2.1, the switch 192.0.2.10"}})
	put("leases/kube-node-lease/sno", map[string]any{"kind": "Lease"})
	put("minions/sno", corev1.Node{TypeMeta: kind("Node"), Status: corev1.NodeStatus{
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}}})
	data := etcdtest.Form(t, c.binary, "https://192.0.2.1:2380", keys)
	require.NoError(t, os.MkdirAll(filepath.Join(c.root, "var/lib"), 0o755))
	require.NoError(t, os.Rename(data, filepath.Join(c.root, host.EtcdData)))
	c.write(host.EtcdPodManifest, podOfEtcd)
	c.write("/etc/kubernetes/static-pod-resources/etcd-certs/secrets/etcd-all-certs/etcd-peer-sno.crt", peer.certPEM())
	c.write("/etc/kubernetes/static-pod-resources/etcd-certs/secrets/etcd-all-certs/etcd-peer-sno.key", peer.keyPEM(t))
	c.config(map[string]any{})
	return c
}

func (c *cluster) write(path, text string) {
	at := filepath.Join(c.root, path)
	require.NoError(c.t, os.MkdirAll(filepath.Dir(at), 0o755))
	require.NoError(c.t, os.WriteFile(at, []byte(text), 0o600))
}

func (c *cluster) remove(path string) error { return os.Remove(filepath.Join(c.root, path)) }

func (c *cluster) read(path string) string {
	text, err := os.ReadFile(filepath.Join(c.root, path))
	require.NoError(c.t, err)
	return string(text)
}

// config writes recert_config.json with the given keys on top of those of an IP change.
func (c *cluster) config(extra map[string]any) {
	cfg := map[string]any{
		"ip_change_only": true, "ip": []string{"198.51.100.20"}, "machine_network_cidr": []string{"198.51.100.0/24"},
		"cn_san_replace_rules": []string{"192.0.2.1,198.51.100.20"}, "crypto_dirs": []string{"/kubernetes"},
	}
	for k, v := range extra {
		cfg[k] = v
	}
	text, err := json.Marshal(cfg)
	require.NoError(c.t, err)
	c.write(host.RecertConfig, string(text))
}

// run executes one verb over this cluster and returns its answer.
func (c *cluster) run(words ...string) (string, error) {
	c.answers.Reset()
	cmd := Command(Wiring{
		Log: slog.New(slog.DiscardHandler), Out: &c.answers,
		Lock:    func(context.Context, string) (func(), error) { c.locked++; return func() { c.locked-- }, nil },
		Stopped: func(context.Context) error { return c.running },
		Ports: func(s Source) (recert.Ports, error) {
			c.asked = s
			ports := recert.Ports{Files: files.New(c.root), Clock: func() time.Time { return built }}
			if s.Endpoint != "" {
				ports.Keystore = etcd.NewLive(etcd.LiveConfig{Endpoint: s.Endpoint, Writable: s.Write})
				return ports, nil
			}
			ports.Keystore = etcd.New(etcd.Config{
				DataDir: filepath.Join(c.root, s.Data), RuntimeDir: filepath.Join(etcdtest.ShortDir(c.t), "run"),
				Manifest: filepath.Join(c.root, host.EtcdPodManifest), Binary: c.binary,
			})
			return ports, nil
		},
	})
	return c.execute(cmd, words)
}

func (c *cluster) execute(cmd *cobra.Command, words []string) (string, error) {
	cmd.SetArgs(words)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.ExecuteContext(c.t.Context())
	return c.answers.String(), err
}

// golden compares an answer with the file, or writes it.
func golden(t *testing.T, name, have string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(have), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), have, "if this is meant, run the test with -update")
}
