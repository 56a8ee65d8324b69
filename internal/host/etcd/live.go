package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Where an OpenShift node keeps what a client of its etcd needs (cluster-etcd-operator's static pod).
const (
	etcdCerts    = "/etc/kubernetes/static-pod-resources/etcd-certs"
	liveEndpoint = "https://localhost:2379"
	liveCerts    = etcdCerts + "/secrets/etcd-all-certs/etcd-peer-*.crt"
	liveCA       = etcdCerts + "/configmaps/etcd-all-bundles/server-ca-bundle.crt"
	liveTimeout  = 10 * time.Second
)

// ErrReadOnly is returned by every write to a running cluster's store.
var ErrReadOnly = errors.New("the cluster is running: its store is open for reading only")

// LiveConfig says how to reach a running etcd. Its zero value is right on an OpenShift node.
type LiveConfig struct {
	// Endpoint is a URL; one without TLS (http, unix) needs none of the files.
	Endpoint string
	// CertFile may be a pattern of which the first match counts; its key is the same name with .key.
	CertFile, CAFile string
	// Writable is for an etcd that was started over the data of a stopped cluster. Without it
	// every write is refused.
	Writable bool
}

// Live is a host.Keystore on an etcd that runs already: the cluster's own, for planning, or one that was started
// over the data of a stopped cluster. It neither starts nor stops anything.
type Live struct{ cfg LiveConfig }

var _ host.Keystore = (*Live)(nil)

// NewLive returns a Live; nothing is touched before Open.
func NewLive(cfg LiveConfig) *Live {
	setDefault(&cfg.Endpoint, liveEndpoint)
	setDefault(&cfg.CertFile, liveCerts)
	setDefault(&cfg.CAFile, liveCA)
	return &Live{cfg: cfg}
}

// Open connects. An etcd that does not answer within seconds is an error.
func (l *Live) Open(ctx context.Context) (host.OpenKeystore, error) {
	security, err := l.tlsConfig()
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{l.cfg.Endpoint}, TLS: security, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(quickRetry())},
	})
	if err != nil {
		return nil, fmt.Errorf("make an etcd client: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	if _, err := client.Get(ctx, "health"); err != nil {
		_ = client.Close() // the cause is in err
		return nil, fmt.Errorf("reach the running etcd at %s: %w", l.cfg.Endpoint, err)
	}
	open := &liveSession{session{client: client, txn: foreignTxn}}
	if l.cfg.Writable {
		return &writableSession{open}, nil
	}
	return open, nil
}

func (l *Live) tlsConfig() (*tls.Config, error) {
	if strings.HasPrefix(l.cfg.Endpoint, "http://") || strings.HasPrefix(l.cfg.Endpoint, "unix://") {
		return nil, nil
	}
	found, err := filepath.Glob(l.cfg.CertFile)
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("no client certificate for etcd at %s", l.cfg.CertFile)
	}
	key := found[0][:len(found[0])-len(filepath.Ext(found[0]))] + ".key"
	pair, err := tls.LoadX509KeyPair(found[0], key)
	if err != nil {
		return nil, fmt.Errorf("load the client certificate for etcd: %w", err)
	}
	bundle, err := os.ReadFile(l.cfg.CAFile)
	if err != nil {
		return nil, fmt.Errorf("load the authorities of etcd: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("no certificate in %s", l.cfg.CAFile)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

// liveSession reads like any session.
type liveSession struct{ session }

func (*liveSession) Commit(context.Context, []host.Edit) error { return ErrReadOnly }

func (*liveSession) UpdateMember(context.Context, uint64, []string) error { return ErrReadOnly }

// writableSession writes like any session, in transactions of a size that every etcd takes.
type writableSession struct{ *liveSession }

func (w *writableSession) Commit(ctx context.Context, edits []host.Edit) error {
	return w.session.Commit(ctx, edits)
}

func (w *writableSession) UpdateMember(ctx context.Context, id uint64, peerURLs []string) error {
	return w.session.UpdateMember(ctx, id, peerURLs)
}

func (*liveSession) Defragment(context.Context) error { return ErrReadOnly }

func (w *writableSession) Defragment(ctx context.Context) error { return w.session.Defragment(ctx) }

// Close leaves the cluster's etcd alone.
func (l *liveSession) Close(context.Context) error {
	if err := l.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("close the etcd client: %w", err)
	}
	return nil
}
