package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// Manager is the field manager of the objects of a site. There is one, so that what a manifest no longer says is removed, and
// what others say of the object stays.
const Manager = "lca-relocation"

// objectTimeout bounds what one object may take of the time of the others.
const objectTimeout = 10 * time.Second

// applyObjects applies each object by itself. One that fails is a problem of its own; an error is about the ledger.
func (r *Reconciler) applyObjects(
	ctx context.Context, l *ledger, part string, wanted []Change, out *Outcome,
) (failed []ObjectProblem, err error) {
	ready, failed := r.noteOriginals(ctx, l, part, wanted)
	if err := l.saveIfDirty(ctx, r.Client); err != nil {
		return nil, err
	}
	for _, c := range ready {
		e := l.entries[c.placeKey()]
		changed, err := r.applyObject(ctx, c, &e)
		if err != nil {
			failed = append(failed, problemOf(c, err))
			continue
		}
		if changed.any {
			out.Changed = append(out.Changed, c.placeKey())
		}
		if changed.drift {
			out.Drifted = append(out.Drifted, c.placeKey())
		}
		l.setEntry(c.placeKey(), e)
	}
	return failed, l.saveIfDirty(ctx, r.Client)
}

// noteOriginals notes in the ledger what stands in the cluster where an object is applied for the first time.
func (r *Reconciler) noteOriginals(ctx context.Context, l *ledger, part string, wanted []Change) (ready []Change, failed []ObjectProblem) {
	for _, c := range wanted {
		e, known := l.entries[c.placeKey()]
		o, err := r.observeObject(ctx, c)
		if err != nil {
			failed = append(failed, problemOf(c, err))
			continue
		}
		if !known {
			e = entry{Part: part, Missing: o == nil}
			if o != nil {
				e.Original = cloneJSON(userState(o))
			}
		}
		e.Part, e.Change, e.Fields = part, c, true
		if !e.Missing {
			e.Change.Want = cloneJSON(userState(c.Manifest)) // says later which of the original's fields were changed
		}
		l.setEntry(c.placeKey(), e)
		ready = append(ready, c)
	}
	return ready, failed
}

var errNoNamespace = errors.New("objects of this kind are in a namespace: give metadata.namespace")

// observeObject reads the object; nil where there is none. It is an error where the object cannot be applied at all.
func (r *Reconciler) observeObject(ctx context.Context, c Change) (*unstructured.Unstructured, error) {
	if c.fault != nil {
		return nil, c.fault
	}
	ctx, cancel := context.WithTimeout(ctx, objectTimeout)
	defer cancel()
	o := c.Ref.newObject()
	// An error is that of the request below too.
	if namespaced, err := r.Client.IsNamespaced(o); err == nil && namespaced && c.Ref.Namespace == "" {
		return nil, errNoNamespace
	}
	err := r.Client.Get(ctx, kube.KeyOf(o), o)
	if apierrors.IsNotFound(err) {
		return nil, nil // no error: the answer is that there is none
	}
	return o, err // the problem names the object
}

// applyResult says what became of an object: whether it is another than before, and whether because someone else had changed it.
type applyResult struct{ any, drift bool }

// applyObject has the API server merge the object by its fields, and notes in the entry what was applied. It takes fields
// that others have set, as the site's configuration says what they are to be.
func (r *Reconciler) applyObject(ctx context.Context, c Change, e *entry) (applyResult, error) {
	ctx, cancel := context.WithTimeout(ctx, objectTimeout)
	defer cancel()
	want := c.Manifest.DeepCopy()
	if e.Missing {
		want.SetLabels(mergeLabels(want.GetLabels(), map[string]string{Marker: "true"}))
	}
	before, err := r.observeObject(ctx, c)
	if err != nil {
		return applyResult{}, err
	}
	digest := digestOf(want.Object)
	err = r.Client.Apply(ctx, want, Manager)
	if err != nil {
		return applyResult{}, err // the problem names the object
	}
	changed := before == nil || !equalValues(userState(before), userState(want))
	drift := changed && e.Applied && e.Digest == digest
	e.Applied, e.Digest, e.Owned = true, digest, ownedDigest(want)
	return applyResult{changed, drift}, nil
}

func mergeLabels(into, more map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range []map[string]string{into, more} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// userState is what a manifest can say of an object: its content, and the part of its metadata that is the user's.
func userState(o *unstructured.Unstructured) map[string]any {
	out, users := contentOf(o.Object), map[string]any{}
	if all, ok := o.Object["metadata"].(map[string]any); ok {
		for _, key := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
			if v, found := all[key]; found {
				users[key] = v
			}
		}
	}
	out["metadata"] = users
	return out
}

func digestOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func isOurs(f metav1.ManagedFieldsEntry) bool {
	return f.Manager == Manager && f.Operation == metav1.ManagedFieldsOperationApply
}

// nothing is what owned returns where no field is ours.
const nothing = "none"

// ownedDigest is a digest of the fields that are ours. It changes when someone else changes or removes one of them.
func ownedDigest(o *unstructured.Unstructured) string {
	for _, f := range o.GetManagedFields() {
		if isOurs(f) && f.FieldsV1 != nil {
			return digestOf(string(f.FieldsV1.Raw))
		}
	}
	return nothing
}

// restoreObject deletes an object that was not there before, or gives it its original back. Later changes by others stay.
func (r *Reconciler) restoreObject(ctx context.Context, e entry) error {
	o := e.Change.Ref.newObject()
	err := r.Client.Get(ctx, kube.KeyOf(o), o)
	switch {
	case notServed(err):
		return nil
	case err != nil:
		return fmt.Errorf("get %s: %w", e.Change.Ref, err)
	case !e.isIntact(o):
		return r.releaseFields(ctx, o)
	case e.Missing:
		return kube.IgnoreNotFound(r.Client.Delete(ctx, o)) // the caller names the place
	}
	original := e.Change.Ref.newObject()
	content, _ := projectFields(e.Original, e.Change.Want).(map[string]any)
	for k, v := range content {
		if k != "metadata" {
			original.Object[k] = v
		}
	}
	users, _ := content["metadata"].(map[string]any)
	for k, v := range users {
		if err := unstructured.SetNestedField(original.Object, v, "metadata", k); err != nil {
			return err // it names the path
		}
	}
	err = r.Client.Apply(ctx, original, Manager)
	if err != nil {
		return err // the caller names the place
	}
	return r.releaseFields(ctx, original)
}

// isIntact says that nobody else has changed what is ours of the object. Where the ledger does not say what is ours, because the
// process died in between, it is what the API server says.
func (e entry) isIntact(o *unstructured.Unstructured) bool {
	now := ownedDigest(o)
	return e.Owned == now || e.Owned == "" && now != nothing
}

// releaseFields gives the fields of the object up as they are: the API server would remove those that a manager applies no longer.
func (r *Reconciler) releaseFields(ctx context.Context, o *unstructured.Unstructured) error {
	fields := o.GetManagedFields()
	rest := slices.DeleteFunc(slices.Clone(fields), isOurs)
	if len(rest) == len(fields) {
		return nil
	}
	if len(rest) == 0 {
		rest = []metav1.ManagedFieldsEntry{{}} // what an API server takes for "none"
	}
	o.SetManagedFields(rest)
	return r.Client.Update(ctx, o) // the caller names the place
}

// projectFields is what have says of the fields that want names; nil for nothing.
func projectFields(have, want any) any {
	w, ok := want.(map[string]any)
	h, is := have.(map[string]any)
	if !ok || !is {
		return have
	}
	out := map[string]any{}
	for k := range w {
		if v, found := h[k]; found {
			out[k] = projectFields(v, w[k])
		}
	}
	return out
}
