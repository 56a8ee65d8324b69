package recert_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd/etcdtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
)

// labNode is a lab node's state on disk with the adapters that a node has.
type labNode struct {
	root  string
	ports recert.Ports
}

// newLabNode provisions a node: a real etcd database that a real kube-apiserver filled, and the files beside it.
func newLabNode(t *testing.T, site cluster.Site) labNode {
	t.Helper()
	if testing.Short() {
		t.Skip("reason: prepares a cluster with etcd and kube-apiserver; run without -short")
	}
	binary := etcdtest.Binary(t)
	bin := t.TempDir()
	for _, name := range []string{"etcd", "kube-apiserver"} {
		built := filepath.Join(filepath.Dir(binary), name)
		if _, err := os.Stat(built); err != nil {
			t.Skipf("reason: %s is not built; run make controlplane", name)
		}
		if err := os.Symlink(built, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "nodelet"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	p := cluster.Provisioning{Etc: filepath.Join(root, "etc"), Var: filepath.Join(root, "var"), OutDir: filepath.Join(root, "out"), BinDir: bin, Node: site, Agent: cluster.Nodelet}
	if err := cluster.Provision(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	store := etcd.New(etcd.Config{DataDir: filepath.Join(root, "var/lib/etcd"), RuntimeDir: filepath.Join(etcdtest.ShortDir(t), "run"),
		Manifest: "/nonexistent", Binary: binary})
	return labNode{root, recert.Ports{Keystore: store, Files: files.New(root), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}}
}

// run writes the configuration as the flow does and runs recert.
func (n labNode) run(t *testing.T, config map[string]any) time.Duration {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.ports.Files.Write(host.RecertConfig, text, 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := recert.New(n.ports).Run(t.Context(), host.RecertConfig); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

// dump reads the whole store.
func (n labNode) dump(t *testing.T) map[string]host.KeyValue {
	t.Helper()
	session, err := n.ports.Keystore.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := session.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	all := map[string]host.KeyValue{}
	if err := session.Range(t.Context(), "/", func(kv host.KeyValue) error { all[kv.Key] = kv; return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// tree reads every file of the node but etcd's own.
func (n labNode) tree(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(n.root, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(n.root, path)
		if err != nil || !e.Type().IsRegular() || strings.HasPrefix(rel, "var/lib/etcd") || strings.HasPrefix(rel, "var/usrlocal") {
			return err
		}
		text, err := os.ReadFile(path)
		all["/"+rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func labConfig(replace []string, addresses, networks []string) map[string]any {
	dirs := []string{"/kubelet", "/kubernetes", "/machine-config-daemon"}
	return map[string]any{"ip_change_only": true, "etcd_endpoint": "localhost:2379", "crypto_dirs": dirs, "cluster_customization_dirs": dirs,
		"ip": addresses, "machine_network_cidr": networks, "cn_san_replace_rules": replace, "summary_file": host.RecertSummary}
}

// The lab's places that no run changes: the day-one default inside MachineConfigs, examples in CRDs, and what the flow writes itself.
func labStays(where string) bool {
	return strings.Contains(where, "/machineconfigs/") || strings.Contains(where, "/customresourcedefinitions/") || where == "/etc/machine-config-daemon/currentconfig" ||
		where == host.DnsmasqOverrides || where == host.RecertConfig || where == host.RecertSummary || strings.HasPrefix(where, "/out/")
}

func TestRunMovesALabNode(t *testing.T) {
	site := cluster.Site{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24"), netip.MustParsePrefix("2001:db8::10/64")}}
	n := newLabNode(t, site)
	keysBefore, filesBefore := n.dump(t), n.tree(t)
	took := n.run(t, labConfig([]string{"192.0.2.10,198.51.100.20", "2001:db8::10,2001:db8:77::20"},
		[]string{"198.51.100.20", "2001:db8:77::20"}, []string{"198.51.100.0/24", "2001:db8:77::/64"}))
	t.Logf("the run took %v", took)
	if took > 10*time.Second { // two on a quiet machine; tests share theirs
		t.Errorf("the run took %v", took)
	}
	keys, disk := n.dump(t), n.tree(t)
	for key, kv := range keys {
		if !labStays(key) && (bytes.Contains(kv.Value, []byte("192.0.2.10")) || bytes.Contains(kv.Value, []byte("2001:db8::10"))) {
			t.Errorf("%s still mentions an old address", key)
		}
	}
	for path, text := range disk {
		if !labStays(path) && (strings.Contains(text, "192.0.2.10") || strings.Contains(text, "2001:db8::10")) {
			t.Errorf("%s still mentions an old address", path)
		}
	}
	summary := disk[host.RecertSummary]
	changedKeys, changedFiles := 0, 0
	for key, kv := range keysBefore {
		now, ok := keys[key]
		if ok && now.ModRevision == kv.ModRevision {
			continue
		}
		changedKeys++
		if !strings.Contains(summary, key) {
			t.Errorf("%s changed and is not in the summary", key)
		}
	}
	for path, text := range filesBefore {
		if disk[path] != text {
			changedFiles++
			if !strings.Contains(summary, path) {
				t.Errorf("%s changed and is not in the summary", path)
			}
		}
	}
	t.Logf("%d of %d keys, %d of %d files", changedKeys, len(keysBefore), changedFiles, len(filesBefore))
	verifyServing(t, disk, "/etc/kubernetes/static-pod-resources/etcd-certs/secrets/etcd-all-certs/etcd-serving-sno",
		"/etc/kubernetes/static-pod-resources/etcd-certs/configmaps/etcd-all-bundles/server-ca-bundle.crt", "198.51.100.20", "2001:db8:77::20")
	verifyServing(t, disk, "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/external-loadbalancer-serving-certkey/tls",
		"/etc/kubernetes/static-pod-resources/kube-apiserver-pod-1/configmaps/kube-apiserver-server-ca/ca-bundle.crt", "198.51.100.20", "2001:db8:77::20")
	again := n.run(t, labConfig([]string{"192.0.2.10,198.51.100.20", "2001:db8::10,2001:db8:77::20"},
		[]string{"198.51.100.20", "2001:db8:77::20"}, []string{"198.51.100.0/24", "2001:db8:77::/64"}))
	t.Logf("the second run took %v", again)
	for key, kv := range n.dump(t) {
		if keys[key].ModRevision != kv.ModRevision {
			t.Errorf("the second run changed %s", key)
		}
	}
}

// verifyServing completes a TLS handshake with the certificate and key on disk, for each address and with the bundle that
// clients on the node trust.
func verifyServing(t *testing.T, disk map[string]string, pair, bundle string, addresses ...string) {
	t.Helper()
	cert, err := tls.X509KeyPair([]byte(disk[pair+".crt"]), []byte(disk[pair+".key"]))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(disk[bundle])) {
		t.Fatalf("no certificates in %s", bundle)
	}
	for _, address := range addresses {
		server, client := net.Pipe()
		go func() {
			s := tls.Server(server, &tls.Config{Certificates: []tls.Certificate{cert}})
			_ = s.Handshake() // the client tells
			_ = s.Close()
		}()
		if err := tls.Client(client, &tls.Config{RootCAs: roots, ServerName: address}).Handshake(); err != nil {
			t.Errorf("%s for %s: %v", pair, address, err)
		}
		_ = client.Close()
	}
}
