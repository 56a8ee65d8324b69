// Package latest corrects what a cache has by what its reader knows better: the reader's own last writes, and what it read from the
// API server after a write was refused. docs/decisions/0069 says why. Every comparison of resource versions is made here.
//
// Objects keeps whole objects, for a reader that decides on the contents of its own writes. Versions keeps only which version was
// written, for a reader that waits until its cache has it. Their zero values are ready for use, by one goroutine at a time.
package latest

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/requeue"
)

// Validity is how long an object that is kept counts before the API server is asked again. An API server that is busy with a thousand
// nodes sends events minutes late.
const Validity = 5 * time.Minute

// IsOlder says that a resource version is before another one of the same kind. Versions that cannot be compared are not older.
func IsOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

// IsRefusal says that a write was refused because it was made for another state than the present one.
func IsRefusal(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// Versions are the versions of objects that were written last and that the cache did not have yet when it was read.
type Versions[K comparable] struct {
	written map[K]string
}

// Record remembers the version that the API server gave a write.
func (v *Versions[K]) Record(key K, version string) {
	if v.written == nil {
		v.written = map[K]string{}
	}
	v.written[key] = version
}

// IsBehind says that the cache, which has this version, does not have the last write yet. Once it has, the write is forgotten.
func (v *Versions[K]) IsBehind(key K, cached string) bool {
	last, known := v.written[key]
	if known && IsOlder(cached, last) {
		return true
	}
	delete(v.written, key)
	return false
}

// Forget drops what is remembered of an object.
func (v *Versions[K]) Forget(key K) { delete(v.written, key) }

// object is a pointer to T.
type object[T any] interface {
	*T
	client.Object
}

// Objects are the objects of a kind of which the reader knows more than its cache. A reader that went by a cache that is behind would
// write the same again, and be refused again: a thousand of them keep an API server so busy that the caches fall further behind.
type Objects[T any, P object[T]] struct {
	known map[client.ObjectKey]entry[P]
}

// entry is what is known of one object, and since when.
type entry[P client.Object] struct {
	// deleted says that the object is known to be gone. object is then the zero value, and uid is that of the one that was.
	deleted bool
	object  P
	uid     types.UID
	at      time.Time
}

// Keep remembers an object as the API server returned it.
func (l *Objects[T, P]) Keep(o P, at time.Time) {
	l.set(client.ObjectKeyFromObject(o), entry[P]{object: o.DeepCopyObject().(P), uid: o.GetUID(), at: at})
}

// KeepDeleted remembers that an object is gone.
func (l *Objects[T, P]) KeepDeleted(key client.ObjectKey, uid types.UID, at time.Time) {
	l.set(key, entry[P]{deleted: true, uid: uid, at: at})
}

func (l *Objects[T, P]) set(key client.ObjectKey, e entry[P]) {
	if l.known == nil {
		l.known = map[client.ObjectKey]entry[P]{}
	}
	l.known[key] = e
}

// Len is how many objects the cache does not have yet.
func (l *Objects[T, P]) Len() int { return len(l.known) }

// Correct replaces what the cache has by what is known better, and forgets what the cache has by now. An object whose validity is over
// is read from the server.
func (l *Objects[T, P]) Correct(ctx context.Context, cached []T, server client.Reader, now time.Time) ([]T, error) {
	if len(l.known) == 0 {
		return cached, nil
	}
	byKey := map[client.ObjectKey]P{}
	var out []T
	for i := range cached {
		o := P(&cached[i])
		byKey[client.ObjectKeyFromObject(o)] = o
		if e, ok := l.known[client.ObjectKeyFromObject(o)]; !ok || !e.isNewerThan(o) {
			out = append(out, cached[i])
		}
	}
	for key, e := range l.known {
		o, has := byKey[key]
		if has && !e.isNewerThan(o) || !has && e.deleted {
			delete(l.known, key)
			continue
		}
		if now.Sub(e.at) >= Validity {
			if err := l.read(ctx, server, key, e.uid, now); err != nil {
				return nil, err
			}
		}
		if e := l.known[key]; !e.deleted {
			out = append(out, *e.object.DeepCopyObject().(P))
		}
	}
	return out, nil
}

// LearnFromRefusal reads an object from the server if a write of it was refused because the cache is behind. It returns the refusal,
// after which the caller observes again.
func (l *Objects[T, P]) LearnFromRefusal(ctx context.Context, server client.Reader, o P, refusal error, at time.Time) error {
	if !IsRefusal(refusal) {
		return refusal
	}
	if err := l.read(ctx, server, client.ObjectKeyFromObject(o), o.GetUID(), at); err != nil {
		return err
	}
	return refusal
}

// read reads an object past the cache. The UID is of the one that is asked for.
func (l *Objects[T, P]) read(ctx context.Context, server client.Reader, key client.ObjectKey, uid types.UID, at time.Time) error {
	o := P(new(T))
	err := server.Get(ctx, key, o)
	if apierrors.IsNotFound(err) {
		l.KeepDeleted(key, uid, at)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %T %s past the cache: %w", *o, key.Name, err)
	}
	l.Keep(o, at)
	return nil
}

// NextRead is how long from now the server is asked for an object that the cache does not have; 0 where the cache has everything.
func (l *Objects[T, P]) NextRead(now time.Time) (wait time.Duration) {
	for _, e := range l.known {
		wait = requeue.Sooner(wait, max(e.at.Add(Validity).Sub(now), time.Second))
	}
	return wait
}

// isNewerThan says that the cached object is older.
func (e entry[P]) isNewerThan(cached P) bool {
	if e.deleted {
		return cached.GetUID() == e.uid
	}
	return IsOlder(cached.GetResourceVersion(), e.object.GetResourceVersion())
}
