package etcd

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// ErrConflict is matched by the error of a Commit whose guard failed.
var ErrConflict = errors.New("key changed since it was read")

// Commit implements host.OpenKeystore.
func (s *session) Commit(ctx context.Context, edits []host.Edit) error {
	seen := make(map[string]bool, len(edits))
	for _, e := range edits {
		if seen[e.Key] {
			return fmt.Errorf("commit names key %s twice", e.Key)
		}
		seen[e.Key] = true
	}
	for len(edits) > 0 {
		n := s.txn.batchSize(edits)
		if err := s.commitBatch(ctx, edits[:n]); err != nil {
			return err
		}
		edits = edits[n:]
	}
	return nil
}

// batchSize is how many edits fit one transaction; at least one.
func (l txnLimits) batchSize(edits []host.Edit) int {
	size := 0
	for i, e := range edits {
		size += 2*len(e.Key) + len(e.Value) + 64
		if i > 0 && (i >= l.ops || size > l.bytes) {
			return i
		}
	}
	return len(edits)
}

func (s *session) commitBatch(ctx context.Context, edits []host.Edit) error {
	var guards []clientv3.Cmp
	var writes, reads []clientv3.Op
	for _, e := range edits {
		guards = append(guards, clientv3.Compare(clientv3.ModRevision(e.Key), "=", e.ModRevision))
		reads = append(reads, clientv3.OpGet(e.Key, clientv3.WithKeysOnly()))
		if e.Delete {
			writes = append(writes, clientv3.OpDelete(e.Key))
		} else {
			writes = append(writes, clientv3.OpPut(e.Key, string(e.Value)))
		}
	}
	answer, err := s.client.Txn(ctx).If(guards...).Then(writes...).Else(reads...).Commit()
	if err != nil {
		return fmt.Errorf("commit %d edits starting with %s: %w", len(edits), edits[0].Key, err)
	}
	if !answer.Succeeded {
		return conflictError(edits, answer)
	}
	return nil
}

// conflictError finds the first key whose guard did not hold.
func conflictError(edits []host.Edit, answer *clientv3.TxnResponse) error {
	for i, e := range edits {
		var now int64
		if kvs := answer.Responses[i].GetResponseRange().Kvs; len(kvs) > 0 {
			now = kvs[0].ModRevision
		}
		if now != e.ModRevision {
			return fmt.Errorf("commit %s: %w (was revision %d, is %d)", e.Key, ErrConflict, e.ModRevision, now)
		}
	}
	return fmt.Errorf("commit %d edits: %w", len(edits), ErrConflict)
}
