package latest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func configMap(uid, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "c", UID: types.UID(uid), ResourceVersion: version}}
}

func TestVersionsAreOrderedAsNumbers(t *testing.T) {
	require.True(t, IsOlder("9", "10"))
	require.False(t, IsOlder("10", "10"))
	require.False(t, IsOlder("11", "10"))
	require.False(t, IsOlder("", "10"), "what cannot be compared is not older")
}

func TestAWriteIsForgottenOnceTheCacheHasIt(t *testing.T) {
	var v Versions[string]
	require.False(t, v.IsBehind("a", "1"), "nothing was written")
	v.Record("a", "5")
	require.True(t, v.IsBehind("a", "4"))
	require.False(t, v.IsBehind("b", "4"))
	require.False(t, v.IsBehind("a", "6"))
	require.False(t, v.IsBehind("a", "4"), "it is forgotten")
	v.Record("a", "5")
	v.Forget("a")
	require.False(t, v.IsBehind("a", "4"))
}

func TestACacheIsCorrectedUntilItHasTheObject(t *testing.T) {
	now := time.Unix(0, 0)
	for name, c := range map[string]struct {
		kept   func(l *Objects[corev1.ConfigMap, *corev1.ConfigMap])
		cached *corev1.ConfigMap
		want   string
		left   int
	}{
		"an older one is replaced": {func(l *Objects[corev1.ConfigMap, *corev1.ConfigMap]) { l.Keep(configMap("u", "5"), now) },
			configMap("u", "4"), "5", 1},
		"a missing one is added": {func(l *Objects[corev1.ConfigMap, *corev1.ConfigMap]) { l.Keep(configMap("u", "5"), now) },
			nil, "5", 1},
		"a newer one counts": {func(l *Objects[corev1.ConfigMap, *corev1.ConfigMap]) { l.Keep(configMap("u", "5"), now) },
			configMap("u", "6"), "6", 0},
		"a deleted one is left out": {func(l *Objects[corev1.ConfigMap, *corev1.ConfigMap]) {
			l.KeepDeleted(client.ObjectKey{Namespace: "n", Name: "c"}, "u", now)
		}, configMap("u", "4"), "", 1},
		"one made later of the name counts": {func(l *Objects[corev1.ConfigMap, *corev1.ConfigMap]) {
			l.KeepDeleted(client.ObjectKey{Namespace: "n", Name: "c"}, "u", now)
		}, configMap("v", "4"), "4", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var l Objects[corev1.ConfigMap, *corev1.ConfigMap]
			c.kept(&l)
			var cached []corev1.ConfigMap
			if c.cached != nil {
				cached = append(cached, *c.cached)
			}
			got, err := l.Correct(t.Context(), cached, fake.NewFakeClient(), now)
			require.NoError(t, err)
			version := ""
			if len(got) == 1 {
				version = got[0].ResourceVersion
			}
			require.Equal(t, c.want, version)
			require.Equal(t, c.left, l.Len())
			require.Equal(t, c.left > 0, l.NextRead(now) > 0)
		})
	}
}

func TestTheServerIsAskedWhenTheValidityIsOver(t *testing.T) {
	now := time.Unix(0, 0)
	var l Objects[corev1.ConfigMap, *corev1.ConfigMap]
	l.Keep(configMap("u", "5"), now)
	require.Equal(t, Validity, l.NextRead(now))
	got, err := l.Correct(t.Context(), nil, fake.NewFakeClient(), now.Add(Validity))
	require.NoError(t, err)
	require.Empty(t, got, "the server does not have it")
}
