package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// Marker labels the objects that the product made.
const Marker = "relocation.lca.openshift.io/managed"

// Reconciler brings the objects of one cluster to what a site wants.
type Reconciler struct {
	Client kube.Client
	Now    func() time.Time
	Rand   io.Reader
	// Hub reaches the hub; nil leaves a registration that needs it undone, with a word about it.
	Hub HubDialer
}

// Outcome is what became of one part.
type Outcome struct {
	// Changed lists the places that were changed now, Drifted those among them that someone had changed meanwhile.
	Changed, Drifted []string
	// Attention is what did not succeed and must not hold the others up.
	Attention string
}

// ErrWaiting marks what an operator of the cluster has to do first; the part is tried again later.
var ErrWaiting = errors.New("waiting")

// Apply brings one part about: what the configuration wants is put in place, and what it no longer wants gets its
// original back.
func (r *Reconciler) Apply(ctx context.Context, part Part, c siteconfig.SiteConfig) (Outcome, error) {
	l, err := loadLedger(ctx, r.Client)
	if err != nil {
		return Outcome{}, err
	}
	v := &partContext{Reconciler: r, ctx: ctx, config: c, ledger: l}
	wanted, err := part.changes(v)
	if err != nil {
		return Outcome{}, err
	}
	if text, err := v.pausedPools(wanted); err != nil {
		return Outcome{}, err
	} else if text != "" {
		v.attention = text
	}
	out := Outcome{Attention: v.attention}
	keep := map[string]bool{}
	for _, key := range v.kept {
		keep[key] = true
	}
	var whole []Change
	for _, change := range wanted {
		keep[change.placeKey()] = true
		if change.Manifest != nil {
			whole = append(whole, change)
			continue
		}
		if err := r.applyChange(ctx, l, part.Name, change, &out); err != nil {
			return out, err
		}
	}
	failed, err := r.applyObjects(ctx, l, part.Name, whole, &out)
	if err != nil {
		return out, err
	}
	if err := r.giveBackOthers(ctx, l, part.Name, keep, &out); err != nil {
		return out, err
	}
	if len(failed) > 0 {
		return out, &ObjectsError{failed}
	}
	return out, l.removeIfEmpty(ctx, r.Client)
}

// giveBackOthers gives what the part has changed and no longer wants its original back.
func (r *Reconciler) giveBackOthers(ctx context.Context, l *ledger, part string, keep map[string]bool, out *Outcome) error {
	for _, key := range l.keysOf(part) {
		if keep[key] {
			continue
		}
		if err := r.giveBack(ctx, l, key); err != nil {
			return err
		}
		out.Changed = append(out.Changed, key)
	}
	return nil
}

// Revert gives everything its original back, in the reverse order. What someone else has changed since stays as it is;
// kept lists those places.
func (r *Reconciler) Revert(ctx context.Context) (kept []string, err error) {
	l, err := loadLedger(ctx, r.Client)
	if err != nil {
		return nil, err
	}
	for _, part := range slices.Backward(Parts()) {
		for _, key := range l.keysOf(part.Name) {
			foreign, err := r.isChangedByOther(ctx, l.entries[key])
			if err != nil {
				return kept, err
			}
			if foreign {
				kept = append(kept, key)
			}
			if err := r.giveBack(ctx, l, key); err != nil {
				return kept, err
			}
		}
	}
	return kept, l.removeIfEmpty(ctx, r.Client)
}

// applyChange brings one change about.
func (r *Reconciler) applyChange(ctx context.Context, l *ledger, part string, c Change, out *Outcome) error {
	o := c.Ref.newObject()
	err := r.Client.Get(ctx, kube.KeyOf(o), o)
	missing := apierrors.IsNotFound(err)
	if (missing || meta.IsNoMatchError(err)) && c.Optional {
		return nil
	}
	if err != nil && (!missing || !c.ownsObject()) {
		return fmt.Errorf("get %s: %w", c.Ref, err)
	}
	have, err := c.readValue(o)
	if err != nil {
		return err
	}
	inPlace := !missing && isAsWanted(have, c.Want)
	if c.Final {
		return r.putFinal(ctx, o, c, inPlace, out)
	}
	e, known := l.entries[c.placeKey()]
	if known && inPlace && e.Applied && equalValues(e.Change.Want, c.Want) {
		return nil
	}
	if !known {
		e = entry{Part: part, Original: cloneJSON(have), Missing: missing}
		if missing {
			e.Original = nil
		}
	}
	drifted := known && e.Applied && !inPlace && equalValues(e.Change.Want, c.Want)
	e.Part, e.Change, e.Applied = part, c, inPlace
	l.entries[c.placeKey()] = e
	if err := l.save(ctx, r.Client); err != nil {
		return err
	}
	if inPlace {
		return nil
	}
	if err := r.writeChange(ctx, o, c, missing); err != nil {
		return err
	}
	e.Applied = true
	l.entries[c.placeKey()] = e
	out.Changed = append(out.Changed, c.placeKey())
	if drifted {
		out.Drifted = append(out.Drifted, c.placeKey())
	}
	return l.save(ctx, r.Client)
}

// putFinal brings a change about of which nothing is ever given back.
func (r *Reconciler) putFinal(ctx context.Context, o *unstructured.Unstructured, c Change, inPlace bool, out *Outcome) error {
	if inPlace {
		return nil
	}
	if err := r.writeChange(ctx, o, c, false); err != nil {
		return err
	}
	out.Changed = append(out.Changed, c.placeKey())
	return nil
}

func (r *Reconciler) writeChange(ctx context.Context, o *unstructured.Unstructured, c Change, missing bool) error {
	u := o
	if missing {
		u = c.Ref.newObject()
	}
	if err := c.writeValue(u, c.Want); err != nil {
		return fmt.Errorf("change %s: %w", c.placeKey(), err)
	}
	if missing {
		u.SetLabels(c.objectLabels())
		if err := r.Client.Create(ctx, u); err != nil {
			return fmt.Errorf("create %s: %w", c.Ref, err)
		}
		return nil
	}
	if err := r.updateObject(ctx, u, c); err != nil {
		return fmt.Errorf("update %s: %w", c.placeKey(), err)
	}
	return nil
}

func (r *Reconciler) updateObject(ctx context.Context, o *unstructured.Unstructured, c Change) error {
	if c.Status {
		return r.Client.UpdateStatus(ctx, o) // the callers name the place
	}
	return r.Client.Update(ctx, o) // the callers name the place
}

// isChangedByOther says whether someone else has changed the place since.
func (r *Reconciler) isChangedByOther(ctx context.Context, e entry) (bool, error) {
	o := e.Change.Ref.newObject()
	err := r.Client.Get(ctx, kube.KeyOf(o), o)
	if notServed(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get %s: %w", e.Change.Ref, err)
	}
	if e.byFields() {
		return e.Applied && !e.isIntact(o), nil
	}
	have, err := e.Change.readValue(o)
	return err == nil && e.Applied && !isAsWanted(have, e.Change.Want) && !equalValues(have, e.Original), err
}

// giveBack restores the original of one place, unless someone else has changed it since, and forgets it.
func (r *Reconciler) giveBack(ctx context.Context, l *ledger, key string) error {
	e := l.entries[key]
	if err := r.restoreOriginal(ctx, e); err != nil {
		return fmt.Errorf("restore the original of %s: %w", key, err)
	}
	delete(l.entries, key)
	return l.save(ctx, r.Client)
}

func (r *Reconciler) restoreOriginal(ctx context.Context, e entry) error {
	if e.byFields() {
		return r.restoreObject(ctx, e)
	}
	foreign, err := r.isChangedByOther(ctx, e)
	if err != nil || foreign {
		return err
	}
	o := e.Change.Ref.newObject()
	err = r.Client.Get(ctx, kube.KeyOf(o), o)
	if notServed(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get %s: %w", e.Change.Ref, err)
	}
	if e.Missing {
		return kube.IgnoreNotFound(r.Client.Delete(ctx, o))
	}
	if err := e.Change.writeValue(o, e.Original); err != nil {
		return err
	}
	return r.updateObject(ctx, o, e.Change)
}

// notServed says that the kind or the object is missing.
func notServed(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }
