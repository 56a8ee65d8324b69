package host

import "context"

// KeyValue is one key of the cluster's store as read at ModRevision.
type KeyValue struct {
	Key         string
	Value       []byte
	ModRevision int64
}

// Edit is one guarded write: it takes effect only if the key still has
// the given mod revision (0: the key must not exist).
type Edit struct {
	Key         string
	Value       []byte
	Delete      bool
	ModRevision int64
}

// StoreMember is the cluster's own member of the store.
type StoreMember struct {
	ID       uint64
	Name     string
	PeerURLs []string
}

// Keystore opens the cluster's etcd data while the cluster is down.
type Keystore interface {
	// Open starts the cluster's own etcd over its data, reachable from this process alone
	// (unix socket, no host port). The caller must Close it.
	Open(ctx context.Context) (OpenKeystore, error)
}

// OpenKeystore is a session on the offline store.
type OpenKeystore interface {
	// Range calls fn for every key below prefix, in key order, in pages. Several calls may run at once.
	Range(ctx context.Context, prefix string, fn func(KeyValue) error) error
	// Commit writes the edits in transactions, each as large as the store takes, all guarded;
	// a guard that fails is an error naming the key, and nothing of that transaction is written.
	Commit(ctx context.Context, edits []Edit) error
	Members(ctx context.Context) ([]StoreMember, error)
	UpdateMember(ctx context.Context, id uint64, peerURLs []string) error
	// Defragment drops the store's history, which holds overwritten and deleted values, and returns the space to the
	// file system. Keys keep their values.
	Defragment(ctx context.Context) error
	// Close shuts etcd down and returns when its process has ended with all data on disk.
	Close(ctx context.Context) error
}

// Recert rewrites certificates and addresses inside the stopped cluster.
type Recert interface {
	// Run does what the recert_config.json at configPath says. A second run is a no-op.
	Run(ctx context.Context, configPath string) error
}
