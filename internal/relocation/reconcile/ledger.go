package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// Where the ledger is kept. It is a Secret because a pull secret may be among the originals.
const (
	LedgerNamespace = "openshift-config"
	LedgerName      = "lca-relocation-originals"
	ledgerKey       = "ledger.json"
)

// entry is what the ledger keeps of one change.
type entry struct {
	Part   string `json:"part"`
	Change Change `json:"change"`
	// Original is what stood there before the first change; null for nothing.
	Original any `json:"original"`
	// Missing: the object itself was not there.
	Missing bool `json:"missing,omitempty"`
	// Applied: the change was seen in place once, so that another value is drift.
	Applied bool `json:"applied,omitempty"`
	// Fields: the object is applied by its fields. Digest is that of the manifest that was applied, Owned that of the fields
	// that were ours then.
	Fields bool   `json:"fields,omitempty"`
	Digest string `json:"digest,omitempty"`
	Owned  string `json:"owned,omitempty"`
}

// ledger is the originals of all changes, by place.
type ledger struct {
	entries map[string]entry
	secret  *corev1.Secret
	found   bool
	// dirty: entries were set that are not written yet.
	dirty bool
}

func loadLedger(ctx context.Context, c kube.Client) (*ledger, error) {
	l := &ledger{entries: map[string]entry{}, secret: &corev1.Secret{}}
	l.secret.Namespace, l.secret.Name = LedgerNamespace, LedgerName
	err := c.Get(ctx, kube.KeyOf(l.secret), l.secret)
	if apierrors.IsNotFound(err) {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the originals in secret %s/%s: %w", LedgerNamespace, LedgerName, err)
	}
	l.found = true
	if err := json.Unmarshal(l.secret.Data[ledgerKey], &l.entries); err != nil {
		return nil, fmt.Errorf("decode the originals in secret %s/%s: %w", LedgerNamespace, LedgerName, err)
	}
	for k, e := range l.entries {
		e.Original, e.Change.Want = normalizeIntegers(e.Original), normalizeIntegers(e.Change.Want)
		l.entries[k] = e
	}
	return l, nil
}

// save writes the ledger. It is called before each change of an object, so that no original is ever lost; a ledger that
// another replica has written meanwhile is a conflict, and the caller starts anew.
func (l *ledger) save(ctx context.Context, c kube.Client) error {
	data, err := json.Marshal(l.entries)
	if err != nil {
		return fmt.Errorf("encode the originals: %w", err)
	}
	l.secret.Data = map[string][]byte{ledgerKey: data}
	if l.found {
		err = c.Update(ctx, l.secret)
	} else {
		err = c.Create(ctx, l.secret)
	}
	if err != nil {
		return fmt.Errorf("write the originals to secret %s/%s: %w", LedgerNamespace, LedgerName, err)
	}
	l.found = true
	return nil
}

// byFields says that the object stands as it was applied by its fields. One that an earlier version wrote as a whole, and that
// was not applied by its fields since, does not.
func (e entry) byFields() bool { return e.Fields && (e.Owned != "" || !e.Applied) }

// setEntry changes an entry, to be written by flush.
func (l *ledger) setEntry(key string, e entry) {
	if before, known := l.entries[key]; known && isSameEntry(before, e) {
		return
	}
	l.entries[key], l.dirty = e, true
}

func isSameEntry(a, b entry) bool {
	a.Change.Manifest, b.Change.Manifest = nil, nil
	return reflect.DeepEqual(cloneJSON(a), cloneJSON(b))
}

// saveIfDirty writes the entries that were set.
func (l *ledger) saveIfDirty(ctx context.Context, c kube.Client) error {
	if !l.dirty {
		return nil
	}
	if err := l.save(ctx, c); err != nil {
		return err
	}
	l.dirty = false
	return nil
}

// removeIfEmpty deletes a ledger that holds nothing any more.
func (l *ledger) removeIfEmpty(ctx context.Context, c kube.Client) error {
	if !l.found || len(l.entries) > 0 {
		return nil
	}
	if err := kube.IgnoreNotFound(c.Delete(ctx, l.secret)); err != nil {
		return fmt.Errorf("delete secret %s/%s: %w", LedgerNamespace, LedgerName, err)
	}
	l.found = false
	return nil
}

// keysOf lists the places that a part has changed, the last one first.
func (l *ledger) keysOf(part string) (keys []string) {
	for _, k := range slices.Backward(slices.Sorted(maps.Keys(l.entries))) {
		if part == "" || l.entries[k].Part == part {
			keys = append(keys, k)
		}
	}
	return keys
}
