package create_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/archive"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd/etcdtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/create"
)

const (
	plantedID = "20260501-120000-0001"
	// token is a service account's, of a key that is not in the cluster.
	lostToken = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImcifQ.eyJpc3MiOiJrdWJlcm5ldGVzL3NlcnZpY2VhY2NvdW50In0.cGxhbnRlZC1zaWduYXR1cmU"
)

// realCopies opens the copy with the adapters of a node.
type realCopies struct {
	root, etcd, run string
}

func (c realCopies) Files(root string) host.Files { return files.New(path.Join(c.root, root)) }

func (c realCopies) Open(root, p string) (io.ReadCloser, error) {
	return files.New(path.Join(c.root, root)).OpenRegular(p)
}

func (c realCopies) config(root string) etcd.Config {
	return etcd.Config{DataDir: path.Join(c.root, root, host.EtcdData), Manifest: "/nonexistent", Binary: c.etcd, RuntimeDir: c.run}
}

func (c realCopies) Keystore(root string) host.Keystore { return etcd.New(c.config(root)) }

func (c realCopies) Recert(root string) host.Recert {
	return recert.New(recert.Ports{Keystore: c.Keystore(root), Files: c.Files(root), Clock: clustertest.Now})
}

func (c realCopies) Purge(ctx context.Context, root string) error {
	return etcd.Purge(ctx, c.config(root))
}

// plantation is a seed's copy with a secret in every place where a node keeps one, and what must not be found in the image.
type plantation struct {
	t       *testing.T
	system  string
	keys    map[string]string
	secrets map[string]string // by where they were planted
}

func (p *plantation) secret(where string) string {
	s := fmt.Sprintf("planted%04d%x", len(p.secrets), []byte(where)[len(where)-1:])
	s += strings.Repeat("Zq7", 4)
	p.secrets[where] = s
	return s
}

func (p *plantation) write(file, text string) {
	at := filepath.Join(p.system, file)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(at), 0o755))
	require.NoError(p.t, os.WriteFile(at, []byte(text), 0o600))
}

// file plants a secret as the content of a file.
func (p *plantation) file(file string) { p.write(file, p.secret(file)+"\n") }

// object plants a secret in an object of the cluster.
func (p *plantation) object(key string) {
	p.keys[key] = fmt.Sprintf(`{"kind":"Thing","apiVersion":"v1","value":%q}`, p.secret(key))
}

func (p *plantation) secretObject(name string, data map[string]string) {
	encoded := map[string][]byte{}
	for k, v := range data {
		encoded[k] = []byte(v)
	}
	text, err := json.Marshal(encoded)
	require.NoError(p.t, err)
	p.keys[seed.StoragePrefix+"secrets/"+name] = `{"kind":"Secret","apiVersion":"v1","data":` + string(text) + "}"
}

// login is a containers auth.json with a secret in it.
func (p *plantation) login(where string) string {
	secret := p.secret(where)
	return `{"auths":{"registry.example.com":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("robot:"+secret)) + `"}}}`
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func carried(text string) string {
	return "data:;base64," + base64.StdEncoding.EncodeToString([]byte(text))
}

// plantedFiles are where a node of OpenShift keeps what is its own.
var plantedFiles = []string{
	"/etc/NetworkManager/system-connections/wifi.nmconnection", "/etc/machine-id", "/etc/hostname", "/etc/krb5.keytab", "/etc/ipsec.secrets",
	"/etc/ipsec.d/own.secrets", "/etc/wireguard/wg0.conf", "/etc/chrony.keys", "/etc/pki/consumer/key.pem", "/etc/pki/entitlement/1-key.pem",
	"/etc/ignition-machine-config-encapsulated.json", "/etc/ignition-machine-config-encapsulated.json.bak", "/etc/.ignition-result.json",
	"/etc/cloud/cloud.cfg.d/user-data", "/etc/ostree/auth.json", "/etc/containers/auth.json", "/etc/docker/config.json", "/etc/shadow-",
	"/etc/gshadow-", "/etc/cni/multus/certs/multus-client.pem", "/etc/openvswitch/conf.db", "/etc/insights-client/machine-id",
	"/etc/iscsi/initiatorname.iscsi", "/etc/ssh/ssh_host_rsa_key",
	"/var/lib/kubelet/config.json", "/var/lib/systemd/random-seed", "/var/lib/systemd/credential.secret", "/var/lib/systemd/coredump/core.etcd.1.zst",
	"/var/lib/NetworkManager/secret_key", "/var/lib/NetworkManager/internal-1.lease", "/var/lib/cloud/instance/user-data.txt",
	"/var/lib/rhsm/facts", "/var/lib/sss/db/cache", "/var/lib/ipsec/nss/key4.db", "/var/lib/private/x/state", "/var/lib/dbus/machine-id",
	"/var/lib/etcd-backup/snapshot.db", "/var/lib/etcd/restore-backup.db", "/var/lib/etcd/member/snap/0000000000000001.snap.db",
	"/var/lib/etcd/member/wal/1.wal.broken", "/var/lib/lca/ibu-seedgen-orch/auth.json", "/var/lib/lca/ibu-seedgen-orch/hub.kubeconfig",
	"/var/lib/lca/workspace/kubeconfig-crypto/loadbalancer-serving-signer.key", "/var/lib/lca/evidence/x/journal", "/var/seed_data/manifest.json",
	"/var/opt/openshift/cluster-configuration/manifest.json", "/var/lib/containers/storage/auth.json", "/var/lib/kubelet/pods/1/token",
	"/var/lib/kubelet/plugins/x/token", "/var/log/journal/1/system.journal", "/var/log/audit/audit.log", "/var/tmp/backupCertsDir/key",
	"/var/crash/vmcore", "/var/spool/mail/root", "/var/spool/cron/core", "/var/spool/abrt/core",
	"/var/roothome/.bash_history", "/var/roothome/.ssh/id_rsa", "/var/roothome/.ssh/known_hosts", "/var/roothome/.docker/config.json",
	"/var/roothome/.kube/config", "/var/roothome/.config/containers/auth.json", "/var/roothome/backup.key",
	"/var/home/core/.bash_history", "/var/home/core/.ssh/id_ed25519", "/var/home/core/.kube/config", "/var/home/core/pull-secret.json",
	"/var/home/core/.netrc", "/var/lib/app/.git-credentials", "/var/lib/app/.pgpass",
}

// plantedObjects are the cluster's.
var plantedObjects = []string{
	"/kubernetes.io/lca.openshift.io/seedgenerators/seedimage", "/kubernetes.io/lca.openshift.io/ipconfigs/ipconfig",
	"/kubernetes.io/secrets/openshift-lifecycle-agent/seedgen", "/kubernetes.io/secrets/openshift-lifecycle-agent/seedgen-signing",
	"/kubernetes.io/secrets/kube-system/bootstrap-token-abcdef", "/kubernetes.io/secrets/open-cluster-management-agent/hub-kubeconfig-secret",
	"/kubernetes.io/secrets/open-cluster-management-agent/bootstrap-hub-kubeconfig",
	"/kubernetes.io/operator.open-cluster-management.io/klusterlets/klusterlet",
	"/kubernetes.io/secrets/openshift-monitoring/observability-alertmanager-accessor",
	"/kubernetes.io/secrets/assisted-installer/pull", "/kubernetes.io/events/ns/x", "/kubernetes.io/certificatesigningrequests/csr-1",
	"/kubernetes.io/secrets/openshift-authentication/v4-0-config-system-session",
	"/kubernetes.io/secrets/openshift-console/console-oauth-config", "/kubernetes.io/secrets/openshift-ingress/router-stats-default",
	"/openshift.io/oauth/accesstokens/sha256~a", "/openshift.io/oauth/authorizetokens/sha256~b", "/openshift.io/oauth/clients/console",
}

func plant(t *testing.T, root, binary string) *plantation {
	t.Helper()
	p := &plantation{t: t, system: filepath.Join(root, create.SystemDir(plantedID)), keys: map[string]string{}, secrets: map[string]string{}}
	ring, err := clustertest.NewKeyring()
	require.NoError(t, err)
	c := clustertest.Generate(ring, 3, clustertest.Before(3), clustertest.Size{Objects: 10, Bundle: 2})
	for k, v := range c.Keys {
		p.keys[k] = string(v)
		p.keysOf(k, string(v))
	}
	for f, v := range c.Files {
		p.write(f, string(v.Data))
		p.keysOf(f, string(v.Data))
	}
	for _, f := range plantedFiles {
		p.file(f)
	}
	for _, k := range plantedObjects {
		p.object(k)
	}
	p.credentials()
	data := etcdtest.Form(t, binary, c.Member.PeerURLs[0], p.keys)
	at := filepath.Join(p.system, host.EtcdData)
	require.NoError(t, os.MkdirAll(at, 0o700))
	for _, dir := range []string{"snap", "wal"} { // beside what was planted there
		names, err := os.ReadDir(filepath.Join(data, "member", dir))
		require.NoError(t, err)
		for _, n := range names {
			require.NoError(t, os.Rename(filepath.Join(data, "member", dir, n.Name()), filepath.Join(at, "member", dir, n.Name())))
		}
	}
	return p
}

// credentials plants secrets inside of what stays.
func (p *plantation) credentials() {
	p.secretObject("openshift-config/pull-secret", map[string]string{".dockerconfigjson": p.login("the pull secret")})
	p.secretObject("kube-system/kubeadmin", map[string]string{"kubeadmin": "$2a$10$" + p.secret("the hash of kubeadmin")})
	p.secretObject("ns/robot", map[string]string{".dockerconfigjson": p.login("a pull secret of a namespace"), "token": lostToken,
		"alertmanager.yaml.gz": zipped(p.login("a compressed value"))})
	p.keys[seed.StoragePrefix+"machineconfiguration.openshift.io/machineconfigs/00-master"] = fmt.Sprintf(
		`{"kind":"MachineConfig","spec":{"config":{"storage":{"files":[{"path":"/var/lib/kubelet/config.json","contents":{"source":%q}},`+
			`{"path":"/etc/x","contents":{"compression":"gzip","source":%q}}]}}}}`,
		carried(p.login("a MachineConfig")), carried(zipped(p.login("a compressed file of a MachineConfig"))))
	p.write("/etc/machine-config-daemon/currentconfig", p.keys[seed.StoragePrefix+"machineconfiguration.openshift.io/machineconfigs/00-master"])
	p.write("/etc/machine-config-daemon/orig/var/lib/kubelet/config.json.mcdorig", p.login("what a MachineConfig replaced"))
	p.write("/etc/mcs-machine-config-content.json", p.keys[seed.StoragePrefix+"machineconfiguration.openshift.io/machineconfigs/00-master"])
	p.write("/etc/kubernetes/cni/net.d/multus.d/multus.kubeconfig", "token: "+lostToken+"\n")
	p.secrets["a token"] = "cGxhbnRlZC1zaWduYXR1cmU"
	p.write("/etc/shadow", "root:*:1:0:9::::\ncore:$6$salt$"+p.secret("the password of core")+":1:0:9::::\n")
	p.write("/var/home/core/.ssh/authorized_keys.d/ignition", "ssh-ed25519 AAAA admin\n")
	p.write("/var/home/core/.bashrc", "# ours\n")
	p.write("/var/lib/app/data", "data\n")
}

// keysOf notes the private keys of a text: a line of the digits of each.
func (p *plantation) keysOf(where, text string) {
	for i, block := range strings.Split(text, "PRIVATE KEY-----\n")[1:] {
		line, _, ok := strings.Cut(block, "\n")
		if ok && len(line) == 64 && !strings.HasPrefix(line, "-----") {
			second, _, _ := strings.Cut(block[65:], "\n")
			if len(second) >= 40 { // the first line of a key may be its kind alone
				p.secrets[fmt.Sprintf("key %d of %s", i, where)] = second
			}
		}
	}
}

// TestNothingPlantedShips plants a secret wherever a node keeps one, and looks for all of them in everything that is published: in
// etcd's database page by page, in archives within archives, in base64.
func TestNothingPlantedShips(t *testing.T) {
	binary := etcdtest.Binary(t)
	root := t.TempDir()
	p := plant(t, root, binary)
	require.Greater(t, len(p.secrets), 120)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "ostree/repo/objects"), 0o755))
	ports := create.Ports{
		Node: host.Node{Files: files.New(root)}, Archives: archive.New(archive.Options{Root: root}),
		Copies: realCopies{root, binary, filepath.Join(etcdtest.ShortDir(t), "run")}, Log: slog.New(slog.DiscardHandler),
	}
	contents, err := create.Expired(t.Context(), ports, seed.Request{OperationID: plantedID, SeedImage: seedName}, host.Deployment{Stateroot: running})
	require.NoError(t, err)

	search := newSearch(p.secrets)
	for _, c := range contents {
		var b bytes.Buffer
		require.NoError(t, c.Write(t.Context(), &b))
		search.in(c.Name, b.Bytes())
	}
	require.Empty(t, search.found)
	for _, name := range []string{"var.tgz!var/lib/app/data", "var.tgz!var/home/core/.ssh/authorized_keys.d/ignition", "var.tgz!var/home/core/.bashrc",
		"var.tgz!var/lib/etcd/member/snap/db", "etc.tgz!etc/shadow", "etc.tgz!etc/machine-id", "etc.tgz!etc/ssh/ssh_host_rsa_key"} {
		require.Contains(t, search.seen, name)
	}
	require.Contains(t, string(search.seen["etc.tgz!etc/shadow"]), "core:!*:")
	require.Equal(t, seed.PlaceholderPullSecret, string(search.seen["var.tgz!var/lib/kubelet/config.json"]))
}

// The search finds what it is to find: without it an empty result would say nothing.
func TestTheSearchFindsWhatIsHidden(t *testing.T) {
	const secret = "planted0001Zq7Zq7Zq7Zq7"
	var archived bytes.Buffer
	w := tar.NewWriter(&archived)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "a/b", Mode: 0o600, Size: int64(len(secret))}))
	_, err := io.WriteString(w, secret)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for name, data := range map[string]string{
		"plain": "x" + secret, "base64": base64.StdEncoding.EncodeToString([]byte("x:" + secret)), "hex": hex.EncodeToString([]byte(secret)),
		"gzip": zipped(secret), "archive": archived.String(), "archive in gzip in base64": "y" + carried(zipped(archived.String())),
		"pages": strings.Repeat("\x00", 4096) + zipped("x"+secret),
	} {
		s := newSearch(map[string]string{"it": secret})
		s.in("x", []byte(data))
		require.NotEmpty(t, s.found, name)
	}
}

// search looks for secrets in data, and in what the data carries.
type search struct {
	patterns map[string][][]byte
	found    []string
	seen     map[string][]byte
}

func newSearch(secrets map[string]string) *search {
	s := &search{patterns: map[string][][]byte{}, seen: map[string][]byte{}}
	for where, secret := range secrets {
		list := [][]byte{[]byte(secret), []byte(hex.EncodeToString([]byte(secret)))}
		for shift := range 3 { // base64 at each alignment, without the digits that depend on what is around
			text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
			list = append(list, []byte(text[4*((shift+2)/3):len(text)-4]))
		}
		s.patterns[where] = list
	}
	return s
}

func (s *search) in(name string, data []byte) {
	s.seen[name] = data
	for where, list := range s.patterns {
		for _, pattern := range list {
			if bytes.Contains(data, pattern) {
				s.found = append(s.found, where+" in "+name)
				break
			}
		}
	}
	s.inArchive(name, data)
	s.inCompressed(name, data)
	s.inDigits(name, data)
}

func (s *search) inArchive(name string, data []byte) {
	r := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := r.Next()
		if err != nil {
			return
		}
		inner, err := io.ReadAll(r)
		if err != nil {
			return
		}
		s.in(name+"!"+h.Name, inner)
	}
}

// inCompressed unpacks whatever begins as gzip does, wherever it stands.
func (s *search) inCompressed(name string, data []byte) {
	for at := 0; ; at++ {
		next := bytes.Index(data[at:], []byte("\x1f\x8b\x08"))
		if next < 0 {
			return
		}
		at += next
		r, err := gzip.NewReader(bytes.NewReader(data[at:]))
		if err != nil {
			continue
		}
		r.Multistream(at == 0)
		inner, err := io.ReadAll(r)
		if len(inner) > 0 && (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) {
			to := name
			if at > 0 {
				to = fmt.Sprintf("%s@%d", name, at)
			}
			s.in(to, inner)
			if at == 0 {
				return
			}
		}
	}
}

// inDigits decodes what a data URL or a Secret in JSON carries.
func (s *search) inDigits(name string, data []byte) {
	for at := 0; ; {
		next := bytes.Index(data[at:], []byte("H4sI")) // gzip in base64
		if next < 0 {
			return
		}
		at += next
		end := at
		for end < len(data) && strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=", data[end]) >= 0 {
			end++
		}
		if inner, err := base64.StdEncoding.DecodeString(string(data[at:end])); err == nil {
			s.in(fmt.Sprintf("%s#%d", name, at), inner)
		}
		at = end
	}
}
