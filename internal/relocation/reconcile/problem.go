package reconcile

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// ObjectProblem is an object that is not in place.
type ObjectProblem struct {
	Ref Ref
	// Reason is in words; it quotes nothing of a Secret.
	Reason string
	// Refused: the API server does not take the object as it is. Otherwise it waits for something.
	Refused bool
	// Required: the site is not to run without it.
	Required bool
}

func (p ObjectProblem) String() string { return p.Ref.String() + ": " + p.Reason }

// ObjectsError lists the objects of a part that are not in place. All others are.
type ObjectsError struct{ Problems []ObjectProblem }

func (e *ObjectsError) Error() string {
	var all []string
	for _, p := range e.Problems {
		all = append(all, p.String())
	}
	return strings.Join(all, "; ")
}

// Refused says that no object waits for anything.
func (e *ObjectsError) Refused() bool {
	return !slices.ContainsFunc(e.Problems, func(p ObjectProblem) bool { return !p.Refused })
}

// Is makes it an ErrWaiting where no object was refused.
func (e *ObjectsError) Is(target error) bool {
	return target == ErrWaiting && !slices.ContainsFunc(e.Problems, func(p ObjectProblem) bool { return p.Refused })
}

func problemOf(c Change, err error) ObjectProblem {
	return ObjectProblem{Ref: c.Ref, Reason: reasonOf(c.Ref, err),
		Refused:  c.fault != nil || errors.Is(err, errNoNamespace) || isRefused(err),
		Required: c.Manifest.GetAnnotations()[RequiredAnnotation] == "true"}
}

// reasonOf is what a person reads. A message about a Secret may quote its content: of that one the fields are named alone.
func reasonOf(ref Ref, err error) string {
	var answer apierrors.APIStatus
	switch {
	case meta.IsNoMatchError(err):
		return "the cluster does not serve this kind in version " + ref.Version
	case ref.Group != "" || ref.Kind != "Secret" || !errors.As(err, &answer) || apierrors.IsNotFound(err):
		return strings.Join(strings.Fields(err.Error()), " ")
	}
	text := "the API server does not take it, and its answer may quote the Secret"
	if answer.Status().Reason != "" {
		text += " (" + string(answer.Status().Reason) + ")"
	}
	if d := answer.Status().Details; d != nil {
		for _, cause := range d.Causes {
			text += ", " + cause.Field + ": " + string(cause.Type)
		}
	}
	return text
}

// isRefused says that the API server has judged an object and does not take it. An answer that says that something is missing,
// busy or not ready is none.
func isRefused(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	status := answer.Status()
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsTooManyRequests(err),
		apierrors.IsTimeout(err), apierrors.IsUnauthorized(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false
	}
	for _, text := range schemaErrorTexts() {
		if strings.Contains(status.Message, text) {
			return true
		}
	}
	return status.Code >= http.StatusBadRequest && status.Code < http.StatusInternalServerError
}

// schemaErrorTexts are in what an API server answers, with code 500, to an object that does not fit the schema of its kind.
func schemaErrorTexts() []string {
	return []string{"failed to create typed patch object", "failed to convert new object", "unable to convert unstructured object"}
}
