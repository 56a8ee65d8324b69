package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// pageSize is the number of keys per read; OpenShift's largest values are about a
// megabyte, its average below 20 KiB.
const pageSize = 256

const closeWait = 30 * time.Second

// session is a host.OpenKeystore on a running etcd.
type session struct {
	client  *clientv3.Client
	proc    *process
	runtime string
	txn     txnLimits
}

// connectSession waits until etcd answers a linearizable read: then it leads and has applied its log.
func (s *Store) connectSession(ctx context.Context, proc *process) (*session, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:          []string{"unix://" + filepath.Join(s.cfg.RuntimeDir, clientSocket)},
		Logger:             zap.NewNop(),
		MaxCallSendMsgSize: 2 * maxTxnBytes,
		DialOptions:        []grpc.DialOption{grpc.WithConnectParams(quickRetry())},
	})
	if err != nil {
		return nil, fmt.Errorf("make an etcd client: %w", err)
	}
	if err := waitReady(ctx, s.cfg, client, proc); err != nil {
		_ = client.Close() // the cause is in err
		return nil, err
	}
	return &session{client: client, proc: proc, runtime: s.cfg.RuntimeDir, txn: ownTxn}, nil
}

// quickRetry replaces gRPC's back-off of a second, which would be most of the start-up time of a store on
// the same machine: its listener is there before its server is.
func quickRetry() grpc.ConnectParams {
	return grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1.5, MaxDelay: 100 * time.Millisecond},
		MinConnectTimeout: time.Second,
	}
}

func waitReady(ctx context.Context, cfg Config, client *clientv3.Client, proc *process) error {
	ctx, cancel := context.WithTimeout(ctx, cfg.StartWait)
	defer cancel()
	socket := filepath.Join(cfg.RuntimeDir, clientSocket)
	for {
		// A failed dial would put the client into a back-off of a second.
		if isListening(ctx, socket) {
			try, stop := context.WithTimeout(ctx, 5*time.Second)
			_, err := client.Get(try, "health")
			stop()
			if err == nil {
				return nil
			}
		}
		select {
		case <-proc.done:
			return fmt.Errorf("etcd exited while starting: %w; it says: %s", errOr(proc.err), proc.output)
		case <-ctx.Done():
			return fmt.Errorf("etcd did not become healthy: %w; it says: %s", ctx.Err(), proc.output)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func isListening(ctx context.Context, socket string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return false
	}
	_ = conn.Close() // it was opened to be closed
	return true
}

func errOr(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// firstKey is the first that a key can be; etcd takes no empty one.
const firstKey = "\x00"

// Range implements host.OpenKeystore. All pages are read at one revision.
func (s *session) Range(ctx context.Context, prefix string, fn func(host.KeyValue) error) error {
	end, key, rev := clientv3.GetPrefixRangeEnd(prefix), cmp.Or(prefix, firstKey), int64(0)
	for {
		opts := []clientv3.OpOption{clientv3.WithRange(end), clientv3.WithLimit(pageSize), clientv3.WithRev(rev)}
		page, err := s.client.Get(ctx, key, opts...)
		if err != nil {
			return fmt.Errorf("read keys below %s: %w", prefix, err)
		}
		rev = page.Header.Revision
		for _, kv := range page.Kvs {
			if err := fn(host.KeyValue{Key: string(kv.Key), Value: kv.Value, ModRevision: kv.ModRevision}); err != nil {
				return err
			}
		}
		if !page.More {
			return nil
		}
		key = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
}

// Members implements host.OpenKeystore.
func (s *session) Members(ctx context.Context) ([]host.StoreMember, error) {
	list, err := s.client.MemberList(ctx)
	if err != nil {
		return nil, fmt.Errorf("list etcd members: %w", err)
	}
	var out []host.StoreMember
	for _, m := range list.Members {
		out = append(out, host.StoreMember{ID: m.ID, Name: m.Name, PeerURLs: m.PeerURLs})
	}
	return out, nil
}

// UpdateMember implements host.OpenKeystore.
func (s *session) UpdateMember(ctx context.Context, id uint64, peerURLs []string) error {
	if _, err := s.client.MemberUpdate(ctx, id, peerURLs); err != nil {
		return fmt.Errorf("update etcd member %x: %w", id, err)
	}
	return nil
}

// Defragment implements host.OpenKeystore: a compaction at the latest revision, then etcd's own defragmentation.
func (s *session) Defragment(ctx context.Context) error {
	now, err := s.client.Get(ctx, "/", clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("learn the revision of etcd: %w", err)
	}
	_, err = s.client.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical())
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) { // an earlier run did
		return fmt.Errorf("compact etcd at revision %d: %w", now.Header.Revision, err)
	}
	if _, err := s.client.Defragment(ctx, s.client.Endpoints()[0]); err != nil {
		return fmt.Errorf("defragment etcd: %w", err)
	}
	return nil
}

// Close implements host.OpenKeystore. It works with an ended context too, so that a
// cancelled caller still leaves the data at rest.
func (s *session) Close(ctx context.Context) error {
	clientErr := s.client.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
	defer cancel()
	if err := s.proc.stop(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(s.runtime); err != nil {
		return fmt.Errorf("remove the runtime directory: %w", err)
	}
	if clientErr != nil && !errors.Is(clientErr, context.Canceled) {
		return fmt.Errorf("close the etcd client: %w", clientErr)
	}
	return nil
}
