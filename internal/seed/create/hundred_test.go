package create_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/archive"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd/etcdtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/create"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/secretscan"
)

// shape is a kind of secret: a text with a secret of 40 letters and digits in it.
type shape struct {
	kind string
	text func(secret string) string
}

func around(before, after string) func(string) string {
	return func(secret string) string { return before + secret + after }
}

// shapes are the kinds that are planted, each in several places.
func shapes() []shape {
	pem := func(label string) func(string) string {
		return around("-----BEGIN "+label+"-----\n", "\n-----END "+label+"-----\n")
	}
	b64 := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	return []shape{
		{"key of RSA", pem("RSA PRIVATE KEY")}, {"key in PKCS#8", pem("PRIVATE KEY")}, {"encrypted key", pem("ENCRYPTED PRIVATE KEY")},
		{"key of SSH", pem("OPENSSH PRIVATE KEY")}, {"key of PGP", pem("PGP PRIVATE KEY BLOCK")}, {"key of cosign", pem("ENCRYPTED SIGSTORE PRIVATE KEY")},
		{"key of OpenVPN", pem("OpenVPN Static key V1")}, {"key of age", func(s string) string { return "AGE-SECRET-KEY-1" + strings.ToUpper(s) + strings.Repeat("Q", 18) + "\n" }},
		{"PKCS#12", around("\x30\x82\x09\x00\x02\x01\x03\x30\x82\x08\x00\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01\xa0", "\x00")},
		{"JKS", around("\xfe\xed\xfe\xed\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x01", "\x00")}, {"keytab", around("\x05\x02\x00\x00\x00\x40", "\x00")},
		{"JSON Web Key", around(`{"kty":"EC","crv":"P-256","d":"`, `"}`)},
		{"signed token", func(s string) string { return "token: " + lostHead + s + "\n" }},
		{"login of podman", func(s string) string { return `{"auths":{"r.example.com":{"auth":"` + b64("robot:"+s) + `"}}}` }},
		{"login of dockercfg", func(s string) string {
			return `{"r.example.com":{"auth":"` + b64("robot:"+s) + `","email":"a@example.com"}}`
		}},
		{"identity token", around(`{"auths":{"r.example.com":{"identitytoken":"`, `"}}}`)},
		{"hash of SHA-512", around("operator:$6$saltsalt$", ":19000:0:::\n")}, {"hash of yescrypt", around("operator:$y$j9T$saltsalt$", ":1::\n")},
		{"hash of bcrypt", around("operator:$2y$10$", "\n")}, {"hash of Apache", around("operator:$apr1$salt$", "\n")}, {"hash of LDAP", around("userPassword: {SSHA}", "=\n")},
		{"token of OpenShift", around("token: sha256~", "abc\n")}, {"token of GitHub", around("remote: ghp_", "\n")}, {"token of GitLab", around("remote: glpat-", "\n")},
		{"token of Slack", around("hook: xoxb-", "\n")}, {"key of Google", func(s string) string { return "key: AIza" + s[:35] + "\n" }},
		{"key of Azure", around("conn: AccountName=a;AccountKey=", "==\n")}, {"token of Vault", around("vault: hvs.", "\n")},
		{"proxy with password", around("HTTP_PROXY=http://proxy:", "@proxy.example.com:3128\n")}, {"header", around("Authorization: Bearer ", "\n")},
		{"netrc", around("machine example.com login me password ", "\n")}, {"WireGuard", func(s string) string { return "[Interface]\nPrivateKey = " + s + "abc=\n" }},
		{"IPsec", around("192.0.2.1 %any : PSK \"", "\"\n")}, {"Wi-Fi", around("[connection]\nid=w\n[wifi-security]\npsk=", "\n")}, {"802.1X", around("[802-1x]\nprivate-key-password=", "\n")},
		{"name server", around("key k { secret \"", "\"; };\n")}, {"CHAP of iSCSI", around("node.session.auth.password = ", "\n")},
		{"password by name", around("db:\n  password: ", "\n")}, {"token by name", around("apiToken = ", "\n")},
	}
}

const lostHead = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImcifQ.eyJpc3MiOiJvdGhlcnMifQ."

// placeOf plants a text in a place.
type placeOf struct {
	name  string
	plant func(p *plantation, n int, text string)
}

func places() []placeOf {
	return []placeOf{
		{"a file of /etc", func(p *plantation, n int, text string) { p.write(fmt.Sprintf("/etc/app/file-%d.conf", n), text) }},
		{"a file of /var", func(p *plantation, n int, text string) { p.write(fmt.Sprintf("/var/lib/app/file-%d", n), text) }},
		{"a Secret in protobuf", func(p *plantation, n int, text string) {
			p.stored(fmt.Sprintf("secrets/app/proto-%d", n), &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: fmt.Sprintf("proto-%d", n)}, Data: map[string][]byte{"content": []byte(text)}})
		}},
		{"a Secret in JSON", func(p *plantation, n int, text string) {
			p.secretObject(fmt.Sprintf("app/json-%d", n), map[string]string{"content": text})
		}},
		{"base64 of gzip in a Secret", func(p *plantation, n int, text string) {
			p.secretObject(fmt.Sprintf("app/packed-%d", n), map[string]string{"content": base64.StdEncoding.EncodeToString([]byte(zipped(text)))})
		}},
		{"a ConfigMap", func(p *plantation, n int, text string) {
			p.stored(fmt.Sprintf("configmaps/app/cm-%d", n), &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "cm"}, BinaryData: map[string][]byte{"content": []byte(text)}})
		}},
		{"a Deployment's environment", func(p *plantation, n int, text string) {
			d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "d"}}
			d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "CONTENT", Value: base64.StdEncoding.EncodeToString([]byte(text))}}}}
			p.stored(fmt.Sprintf("deployments/app/d-%d", n), d)
		}},
		{"a Helm release", func(p *plantation, n int, text string) {
			release, err := json.Marshal(map[string]string{"manifest": "kind: Secret\ndata:\n  content: " + base64.StdEncoding.EncodeToString([]byte(text))})
			require.NoError(p.t, err)
			p.secretObject(fmt.Sprintf("app/sh.helm.release.v1.app-%d.v1", n),
				map[string]string{"release": base64.StdEncoding.EncodeToString([]byte(zipped(string(release))))})
		}},
		{"a custom resource", func(p *plantation, n int, text string) {
			p.keys[seed.StoragePrefix+fmt.Sprintf("example.com/things/app/t-%d", n)] = `{"kind":"Thing","apiVersion":"example.com/v1","spec":{"content":"` +
				base64.StdEncoding.EncodeToString([]byte(text)) + `"}}`
		}},
	}
}

func (p *plantation) stored(key string, obj runtime.Object) {
	raw, err := obj.(interface{ Marshal() ([]byte, error) }).Marshal()
	require.NoError(p.t, err)
	kind := obj.GetObjectKind().GroupVersionKind()
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}, Raw: raw}
	data, err := unknown.Marshal()
	require.NoError(p.t, err)
	p.keys[seed.StoragePrefix+key] = "k8s\x00" + string(data)
}

// drawn is a secret of its own for each place.
func drawn(name string) string {
	sum := sha256.Sum256([]byte(name))
	text := base64.RawStdEncoding.EncodeToString(sum[:])
	return strings.NewReplacer("+", "x", "/", "y").Replace(text)[:40]
}

// byPlace are files that are secret wherever their content comes from.
var byPlace = []string{"/etc/shadow.bak", "/etc/.shadow.swp", "/etc/gshadow.old", "/etc/security/opasswd", "/etc/ppp/chap-secrets", "/etc/luks/data.key",
	"/etc/cryptsetup-keys.d/x.key", "/etc/openvswitch/system-id.conf", "/etc/nvme/hostnqn", "/var/lib/misc/dnsmasq.leases", "/var/lib/dnsmasq/dnsmasq.leases",
	"/var/lib/dhcp/dhclient.leases", "/var/lib/samba/private/secrets.tdb", "/var/lib/tang/a.jwk"}

// plantHundreds plants every shape in three places, and files that are secret by their place.
func plantHundreds(t *testing.T, root, binary string) *plantation {
	t.Helper()
	p := &plantation{t: t, system: filepath.Join(root, create.SystemDir(plantedID)), keys: map[string]string{}, secrets: map[string]string{}}
	ring, err := clustertest.NewKeyring()
	require.NoError(t, err)
	c := clustertest.Generate(ring, 3, clustertest.Before(3), clustertest.Size{Objects: 10, Bundle: 2})
	for k, v := range c.Keys {
		p.keys[k] = string(v)
	}
	for f, v := range c.Files {
		p.write(f, string(v.Data))
	}
	n := 0
	for i, s := range shapes() {
		for j := range 3 {
			at := places()[(i+j*4)%len(places())]
			n++
			secret := drawn(fmt.Sprint(s.kind, at.name))
			text := s.text(secret)
			if s.kind == "key of age" {
				secret = strings.ToUpper(secret)
			}
			if s.kind == "key of Google" {
				secret = secret[:35]
			}
			p.secrets[s.kind+" in "+at.name] = secret
			at.plant(p, n, text)
		}
	}
	for _, f := range byPlace {
		p.secrets[f] = drawn(f)
		p.write(f, drawn(f)+"\n")
	}
	data := etcdtest.Form(t, binary, c.Member.PeerURLs[0], p.keys)
	at := filepath.Join(p.system, host.EtcdData)
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
	require.NoError(t, os.Rename(data, at))
	return p
}

// TestNoneOfAHundredSecretsShips: what only the names tell refuses the image; when the user has it removed, nothing that was planted is
// in anything that would be published.
func TestNoneOfAHundredSecretsShips(t *testing.T) {
	binary := etcdtest.Binary(t)
	root := t.TempDir()
	p := plantHundreds(t, root, binary)
	require.Greater(t, len(p.secrets), 120)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "ostree/repo/objects"), 0o755))
	ports := create.Ports{
		Node: host.Node{Files: files.New(root)}, Archives: archive.New(archive.Options{Root: root}),
		Copies: realCopies{root, binary, filepath.Join(etcdtest.ShortDir(t), "run")}, Log: slog.New(slog.DiscardHandler),
	}
	request := seed.Request{OperationID: plantedID, SeedImage: seedName}
	_, err := create.Expired(t.Context(), ports, request, host.Deployment{Stateroot: running})
	require.ErrorContains(t, err, "the image is not published: ")
	require.ErrorContains(t, err, "(keyword)")
	refused, err := seed.ReadSecretReport(ports.Files)
	require.NoError(t, err)
	require.Equal(t, plantedID, refused.OperationID)

	for _, f := range refused.Found {
		if f.Decision == secretscan.Refused {
			request.Rulings = append(request.Rulings, secretscan.Ruling{Object: f.Object, Path: f.Path, Reason: "the site has its own"})
		}
	}
	require.Less(t, len(request.Rulings), 20, "most need no decision")
	contents, err := create.Expired(t.Context(), ports, request, host.Deployment{Stateroot: running})
	require.NoError(t, err)
	search := newSearch(p.secrets)
	for _, c := range contents {
		var b bytes.Buffer
		require.NoError(t, c.Write(t.Context(), &b))
		search.in(c.Name, b.Bytes())
	}
	require.Empty(t, search.found)
	require.Contains(t, search.seen, "seed-secrets.json")
	report, err := seed.ReadSecretReport(ports.Files)
	require.NoError(t, err)
	require.Empty(t, report.Refused())
	require.Greater(t, report.Counts[secretscan.Removed], 100, "also what the first run removed is reported")
}
