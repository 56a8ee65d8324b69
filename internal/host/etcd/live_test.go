package etcd_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
)

// selfSigned writes a certificate for localhost that is its own authority, and its key.
func selfSigned(t *testing.T, path string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost", "client"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path+name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLiveReadsARunningClusterAndWritesNothing(t *testing.T) {
	_, cfg := newStore(t, map[string]string{"/k": "v"})
	if err := os.MkdirAll(cfg.RuntimeDir, 0o700); err != nil {
		t.Fatal(err)
	}
	pair := filepath.Join(cfg.RuntimeDir, "etcd-peer-sno")
	selfSigned(t, pair)
	cmd := exec.CommandContext(t.Context(), cfg.Binary, "--data-dir", cfg.DataDir, "--name", "sno", "--log-level", "error",
		"--listen-client-urls", "unixs://client:0", "--advertise-client-urls", "unixs://client:0", "--listen-peer-urls", "unix://peer:0",
		"--cert-file", pair+".crt", "--key-file", pair+".key", "--client-cert-auth", "--trusted-ca-file", pair+".crt")
	cmd.Dir = cfg.RuntimeDir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	socket := filepath.Join(cfg.RuntimeDir, "client:0")
	waitFor(t, func() bool {
		_, err := os.Stat(socket)
		return err == nil
	})
	live := etcd.NewLive(etcd.LiveConfig{Endpoint: "unixs://" + socket, CertFile: filepath.Join(cfg.RuntimeDir, "etcd-peer-*.crt"), CAFile: pair + ".crt"})
	session := open(t, live)
	if got := dump(t, session, "/k"); string(got["/k"].Value) != "v" {
		t.Fatalf("keys %v", got)
	}
	if err := session.Commit(t.Context(), []host.Edit{{Key: "/new"}}); !errors.Is(err, etcd.ErrReadOnly) {
		t.Errorf("commit: %v", err)
	}
	if err := session.UpdateMember(t.Context(), 1, nil); !errors.Is(err, etcd.ErrReadOnly) {
		t.Errorf("update: %v", err)
	}
	if err := session.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if cmd.ProcessState != nil {
		t.Error("closing the session ended the cluster's etcd")
	}
}

// TestAWritableEndpointTakesLargeSets proves that an etcd with its own defaults, which somebody started, takes more
// edits than fit one of its transactions.
func TestAWritableEndpointTakesLargeSets(t *testing.T) {
	_, cfg := newStore(t, nil)
	if err := os.MkdirAll(cfg.RuntimeDir, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), cfg.Binary, "--data-dir", cfg.DataDir, "--name", "editor", "--log-level", "error",
		"--listen-client-urls", "unix://client:0", "--advertise-client-urls", "unix://client:0", "--listen-peer-urls", "unix://peer:0")
	cmd.Dir = cfg.RuntimeDir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	socket := filepath.Join(cfg.RuntimeDir, "client:0")
	waitFor(t, func() bool {
		_, err := os.Stat(socket)
		return err == nil
	})
	session := open(t, etcd.NewLive(etcd.LiveConfig{Endpoint: "unix://" + socket, Writable: true}))
	defer closeStore(t, session)
	var edits []host.Edit
	for i := range 300 {
		edits = append(edits, host.Edit{Key: fmt.Sprintf("/many/%03d", i), Value: make([]byte, 16<<10)})
	}
	if err := session.Commit(t.Context(), edits); err != nil {
		t.Fatal(err)
	}
	if n := len(dump(t, session, "/many/")); n != len(edits) {
		t.Fatalf("%d keys written", n)
	}
	if err := session.Commit(t.Context(), edits[:1]); !errors.Is(err, etcd.ErrConflict) {
		t.Fatalf("a guard that fails: %v", err)
	}
	members, err := session.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := session.UpdateMember(t.Context(), members[0].ID, []string{"https://198.51.100.20:2380"}); err != nil {
		t.Fatal(err)
	}
}
