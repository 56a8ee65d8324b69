package netenactment

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/requeue"
)

type enactment = nmstatev1beta1.NodeNetworkConfigurationEnactment

// latestHolds is how long what the agent knows better than its cache counts before the API server is asked. An API server that is busy
// with a thousand nodes sends events minutes late.
const latestHolds = 5 * time.Minute

// latest are the enactments of which the agent knows more than its cache: as it has written them last, or as it read them after a
// write was refused. An agent that went by a cache that is behind would write the same again, and be refused again: a thousand of them
// keep an API server so busy that the caches fall further behind.
//
// The zero value is ready for use. It is used by one goroutine.
type latest struct {
	known map[string]knowledge
}

// knowledge of one enactment.
type knowledge struct {
	// enactment is nil where it is known to be gone; uid is of the one that was.
	enactment *enactment
	uid       types.UID
	at        time.Time
}

// holds remembers an enactment as the API server returned it.
func (l *latest) holds(e *enactment, at time.Time) {
	l.learn(e.Name, knowledge{enactment: e.DeepCopy(), uid: e.UID, at: at})
}

// gone remembers that there is no enactment of that name any more.
func (l *latest) gone(name string, uid types.UID, at time.Time) {
	l.learn(name, knowledge{uid: uid, at: at})
}

func (l *latest) learn(name string, k knowledge) {
	if l.known == nil {
		l.known = map[string]knowledge{}
	}
	l.known[name] = k
}

// ask reads an enactment past the cache. The UID is of the one that is asked for.
func (l *latest) ask(ctx context.Context, server client.Reader, name string, uid types.UID, at time.Time) error {
	e := &enactment{}
	err := server.Get(ctx, client.ObjectKey{Name: name}, e)
	if apierrors.IsNotFound(err) {
		l.gone(name, uid, at)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read enactment %s: %w", name, err)
	}
	l.holds(e, at)
	return nil
}

// over corrects the enactments of a cache by what is known better, and forgets what the cache has by now.
func (l *latest) over(ctx context.Context, cached []enactment, server client.Reader, now time.Time) ([]enactment, error) {
	if len(l.known) == 0 {
		return cached, nil
	}
	byName := map[string]*enactment{}
	var out []enactment
	for i, e := range cached {
		byName[e.Name] = &cached[i]
		if k, ok := l.known[e.Name]; !ok || !k.exceeds(e) {
			out = append(out, e)
		}
	}
	for name, k := range l.known {
		if k.has(byName[name]) {
			delete(l.known, name)
			continue
		}
		if now.Sub(k.at) >= latestHolds {
			if err := l.ask(ctx, server, name, k.uid, now); err != nil {
				return nil, err
			}
		}
		if e := l.known[name].enactment; e != nil {
			out = append(out, *e.DeepCopy())
		}
	}
	return out, nil
}

// due is how long from now something that the cache does not have is asked for; 0 where the cache has everything.
func (l *latest) due(now time.Time) (wait time.Duration) {
	for _, k := range l.known {
		wait = requeue.Sooner(wait, max(k.at.Add(latestHolds).Sub(now), time.Second))
	}
	return wait
}

// exceeds says that the cached enactment is older.
func (k knowledge) exceeds(cached enactment) bool {
	if k.enactment == nil {
		return cached.UID == k.uid
	}
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, k.enactment.ResourceVersion)
	return err == nil && order < 0
}

// has says that the cache, with this enactment or nil for none, knows as much.
func (k knowledge) has(cached *enactment) bool {
	if cached == nil {
		return k.enactment == nil
	}
	return !k.exceeds(*cached)
}

// refused reads what a write was refused for, if that was because the cache is behind. It returns the refusal, after which the caller
// observes again.
func (r *Reconciler) refused(ctx context.Context, e *enactment, err error) error {
	if !behind(err) {
		return err
	}
	if askErr := r.latest.ask(ctx, r.Reader, e.Name, e.UID, r.Now()); askErr != nil {
		return askErr
	}
	return err
}

// behind says that a write was refused because it was made for another state than the present one.
func behind(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}
