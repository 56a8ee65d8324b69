package ipconfig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

func choosing(image string) func(*lcav1.IPConfig) {
	return func(ipc *lcav1.IPConfig) {
		ipc.Annotations = map[string]string{lcav1.RecertImageAnnotation: image, lcav1.RecertPullSecretAnnotation: "pull"}
	}
}

func TestAChosenImageIsPrefetchedAndReported(t *testing.T) {
	w := newWorld(t)
	w.rest()
	require.Zero(t, w.node.launched(ipconfig.UnitRecertImage), "no image was requested")
	w.change(choosing("quay.io/x/recert:1"))
	require.Equal(t, 1, w.node.launched(ipconfig.UnitRecertImage), "%v", w.node.acts)
	require.Contains(t, strings.Join(w.node.acts, "\n"),
		"ip-config fetch-recert-image --image quay.io/x/recert:1 --pull-secret pull")
	require.NotContains(t, w.get().Annotations, lcav1.RecertImageCachedAnnotation)

	w.node.files[bringup.RecertImageRecord] = []byte(`{"image":"quay.io/x/recert:1"}`)
	w.node.ends(ipconfig.UnitRecertImage, true)
	require.Equal(t, "quay.io/x/recert:1", w.rest().Annotations[lcav1.RecertImageCachedAnnotation])
	require.Equal(t, 1, w.node.launched(ipconfig.UnitRecertImage), "a cached image is not fetched again")
	requireLast(t, w.get(), "Idle", yes, "Idle", "Idle")

	w.change(choosing("quay.io/x/recert:2"))
	require.Equal(t, 2, w.node.launched(ipconfig.UnitRecertImage), "another one is")
}

func TestAFailedPrefetchIsRetriedAndReported(t *testing.T) {
	w := newWorld(t)
	w.rest()
	w.change(choosing("quay.io/x/recert:1"))
	w.node.ends(ipconfig.UnitRecertImage, false)
	w.rest()
	require.Greater(t, w.node.launched(ipconfig.UnitRecertImage), 1)
	require.Contains(t, strings.Join(w.events, "\n"), "Warning RecertImageNotCached: The image quay.io/x/recert:1 could not be fetched")
	requireLast(t, w.get(), "Idle", yes, "Idle", "Idle")
}

func TestNothingIsFetchedThatIsNoImage(t *testing.T) {
	w := newWorld(t)
	w.rest()
	w.change(choosing("--rm"))
	require.Zero(t, w.node.launched(ipconfig.UnitRecertImage))
}
