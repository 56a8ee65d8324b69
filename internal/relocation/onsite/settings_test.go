package onsite_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/reconcile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
)

func object(name string, refused, required bool) reconcile.ObjectProblem {
	return reconcile.ObjectProblem{Ref: reconcile.Ref{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name},
		Reason: "the cause of " + name, Refused: refused, Required: required}
}

// lives has the node set up with a cluster that answers so, and returns its report.
func lives(t *testing.T, want string, answers func(part string, before int) (string, error)) (*world, onsite.Report) {
	t.Helper()
	w := newWorld(t, false)
	w.answers = answers
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, want, verdict)
	var r onsite.Report
	if want == "home" {
		require.NoError(t, operation.ReadJSON(w.node.Files(), relocation.ReportFile, &r))
	}
	return w, r
}

// TestAManifestThatIsRefusedLeavesTheNodeAtHome: the report says each object that is not in place, and its code.
func TestAManifestThatIsRefusedLeavesTheNodeAtHome(t *testing.T) {
	for _, refused := range []bool{true, false} {
		w, r := lives(t, "home", func(part string, _ int) (string, error) {
			if part != "manifests" && part != "hub" {
				return "", nil
			}
			return "", &reconcile.ObjectsError{Problems: []reconcile.ObjectProblem{object("a", true, false), object("b-"+part, refused, false)}}
		})
		require.Equal(t, []string{
			"H42: configmap/shop/a: the cause of a; apply it when the cause is mended",
			"H42: configmap/shop/b-manifests: the cause of b-manifests; apply it when the cause is mended",
			"H41: configmap/shop/a: the cause of a; apply it when the cause is mended",
			"H41: configmap/shop/b-hub: the cause of b-hub; apply it when the cause is mended",
		}, r.Attention)
		require.Greater(t, len(w.asks), 11+2*3, "what is refused is tried again: it may depend on what still starts")
	}
}

// TestARequiredManifestTakesTheNodeBack where the site says that it is not to run without it.
func TestARequiredManifestTakesTheNodeBack(t *testing.T) {
	w, _ := lives(t, "factory", func(part string, _ int) (string, error) {
		if part != "manifests" {
			return "", nil
		}
		return "", &reconcile.ObjectsError{Problems: []reconcile.ObjectProblem{object("a", true, false), object("b", true, true)}}
	})
	last, err := relocation.ReadLast(w.node.Files())
	require.NoError(t, err)
	require.Contains(t, last.Cause, "the site is not to run without configmap/shop/b: the cause of b")
	require.NotContains(t, last.Cause, "configmap/shop/a")
	require.Equal(t, sitecode.SettingsFailed, last.Code())
}

// TestAManifestThatWaitsIsAppliedLater: its kind is served after some minutes.
func TestAManifestThatWaitsIsAppliedLater(t *testing.T) {
	_, r := lives(t, "home", func(part string, before int) (string, error) {
		if part == "manifests" && before < 20 {
			return "", &reconcile.ObjectsError{Problems: []reconcile.ObjectProblem{object("a", false, true)}}
		}
		return "", nil
	})
	require.Empty(t, r.Attention)
}

// TestAHubGetsTimeToAnswer, and then the site is at home without it.
func TestAHubGetsTimeToAnswer(t *testing.T) {
	waiting := "the hub makes the import Secret"
	_, r := lives(t, "home", func(part string, before int) (string, error) {
		if part == "hub" && before < 4 {
			return waiting, nil
		}
		return "", nil
	})
	require.Empty(t, r.Attention)
	_, r = lives(t, "home", func(part string, _ int) (string, error) {
		if part == "hub" {
			return waiting, nil
		}
		return "", nil
	})
	require.Equal(t, []string{"H41: " + waiting}, r.Attention)
}

// TestASettingThatFailsTakesTheNodeBack: what is no manifest is the cluster's identity and connections.
func TestASettingThatFailsTakesTheNodeBack(t *testing.T) {
	w, _ := lives(t, "factory", func(part string, _ int) (string, error) {
		if part == "domain" {
			return "", errors.New("the authority is missing")
		}
		return "", nil
	})
	last, err := relocation.ReadLast(w.node.Files())
	require.NoError(t, err)
	require.Equal(t, sitecode.DomainFailed, last.Code())
}

// TestHealthIsProvedBeforeTheReport: one good answer is none.
func TestHealthIsProvedBeforeTheReport(t *testing.T) {
	w, _ := lives(t, "home", nil)
	require.Greater(t, w.healths, 3)
}
