package ipam

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
)

// After a start, 100,000 locks and claims take the API server many seconds to list, and a host that waits for its first address waits
// with them. So the lists come in an order: address objects first. Who knows these, and asks the API for the few claims that nobody has
// answered and for the few locks that nobody holds, can serve those claims while the rest is on its way: an address whose lock was not
// heard of costs an attempt, since the lock decides. docs/decisions/0042-who-waits-is-served-first.md

// headStart is the time from the start until this replica is about to know everything.
type headStart struct {
	mu   sync.Mutex
	over bool
}

// during calls a function unless the head start is over, and says whether it did; end waits for the function.
func (h *headStart) during(do func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false
	}
	do()
	return true
}

func (h *headStart) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

// serveEarly is run by the manager as soon as the address objects are known. What it does not do, the controllers do: it never fails.
func (r *Reconciler) serveEarly(ctx context.Context) error {
	if err := r.serveUnanswered(ctx); err != nil && ctx.Err() == nil {
		r.Log.Info("claims that wait are served when everything is known", "reason", err)
	}
	return nil
}

func (r *Reconciler) serveUnanswered(ctx context.Context) error {
	waiting := r.unanswered(ctx)
	if len(waiting) == 0 {
		return nil
	}
	known, err := r.withoutLocks(ctx)
	if err != nil {
		return err
	}
	for _, c := range waiting {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !r.early.during(func() { r.serveOne(ctx, known, c) }) {
			return nil
		}
	}
	return nil
}

// unanswered is a claim that nobody has looked at yet.
type unanswered struct {
	*claim
	of kind
}

// unanswered asks for the claims that nobody has looked at yet. Those that were refused are left to the controller, and so are those
// that are not to be served.
func (r *Reconciler) unanswered(ctx context.Context) (out []unanswered) {
	for _, k := range r.kinds() {
		err := k.each(ctx, r.Reader, func(c *claim) {
			if !c.foreign && len(c.conditions) == 0 && c.GetDeletionTimestamp() == nil {
				out = append(out, unanswered{c, k})
			}
		}, k.withoutAddress())
		if err != nil { // the definition is another's, perhaps, and knows no such field
			r.Log.Info("claims that wait are served when everything is known", "reason", err)
		}
	}
	return out
}

// withoutLocks makes a reconciler for once, which knows the pools, the address objects and the locks that nobody holds.
func (r *Reconciler) withoutLocks(ctx context.Context) (*Reconciler, error) {
	o := r.Options
	o.Client = pastCache{o.Client, o.Reader}
	known := New(o)
	known.peers = r.peers
	locks := &lockv1.AddressLockList{}
	notHeld := client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("spec.state", string(lockv1.LockHeld))}
	if err := r.Reader.List(ctx, locks, notHeld); err != nil {
		return nil, fmt.Errorf("list locks that nobody holds: %w", err)
	}
	for i := range locks.Items {
		known.ledger.observe(&locks.Items[i])
	}
	if err := r.pools(ctx, known.ledger); err != nil {
		return nil, err
	}
	return known, r.addresses(ctx, "", func(h held) { known.ledger.note(h) })
}

// serveOne serves a claim whose pool is known, as the controller would that knew its locks. Should the claim have one, of a replica that
// was stopped before it made the address object, the controller lets go of that.
func (r *Reconciler) serveOne(ctx context.Context, known *Reconciler, c unanswered) {
	if known.ledger.pool(c.pool) == nil {
		return
	}
	paused, err := known.paused(ctx, c.claim)
	if err == nil && !paused {
		_, err = known.serve(ctx, c.of, c.claim)
	}
	if err != nil {
		r.Log.Info("claim could not be served early", "claim", c.key.String(), "reason", err)
	}
	if version := known.ledger.lastWritten(c.key); version != "" {
		r.ledger.wrote(c.key, version)
	}
}

// pastCache writes as a client does, and reads past its cache.
type pastCache struct {
	client.Client
	reader client.Reader
}

// Get implements client.Reader.
func (c pastCache) Get(ctx context.Context, name client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return c.reader.Get(ctx, name, into, options...)
}

// List implements client.Reader.
func (c pastCache) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	return c.reader.List(ctx, into, options...)
}
