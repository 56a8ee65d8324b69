package restore_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
)

// newKey is a key that signs, and its public part in PEM.
func newKey(t *testing.T) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	return key, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func (w *world) repository() host.Repository {
	w.t.Helper()
	r, err := w.node.Registries(w.registry).Open(w.t.Context(), host.RegistryAccess{Image: seedName, Push: true})
	require.NoError(w.t, err)
	return r
}

func (w *world) digest(tag string) string {
	w.t.Helper()
	m, err := w.repository().Manifest(w.t.Context(), tag)
	require.NoError(w.t, err)
	return m.Digest
}

func TestAnImageWithoutTheSignatureThatIsAskedForIsRefused(t *testing.T) {
	key, public := newKey(t)
	other, _ := newKey(t)
	for name, sign := range map[string]func(t *testing.T, w *world){
		"none": func(*testing.T, *world) {},
		"another key": func(t *testing.T, w *world) {
			require.NoError(t, image.Sign(t.Context(), w.repository(), seedName, w.digest("1"), other))
		},
		"of another image": func(t *testing.T, w *world) {
			r, digest := w.repository(), w.digest("1")
			signed, err := r.PutManifest(t.Context(), "other", "application/json", []byte("{}"))
			require.NoError(t, err)
			require.NoError(t, image.Sign(t.Context(), r, seedName, signed, key))
			m, err := r.Manifest(t.Context(), strings.Replace(signed, ":", "-", 1)+".sig")
			require.NoError(t, err)
			_, err = r.PutManifest(t.Context(), strings.Replace(digest, ":", "-", 1)+".sig", m.MediaType, m.Data)
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			w.registry = hosttest.NewRegistry()
			misfit{}.publish(t, w)
			sign(t, w)
			ask := w.ask()
			ask.Key = public
			require.ErrorIs(t, w.refused(ask), image.ErrUnsigned)
		})
	}
}

func TestAKeyThatIsNoneIsRefused(t *testing.T) {
	w := newWorld(t, false)
	for _, key := range []string{"", "no key"} {
		ask := w.ask()
		ask.Key = []byte(key)
		require.ErrorContains(t, w.refused(ask), "the public key is not in PEM")
	}
}

func TestASignedImageIsRestored(t *testing.T) {
	w := newWorld(t, false)
	key, public := newKey(t)
	require.NoError(t, image.Sign(t.Context(), w.repository(), seedName, w.digest("1"), key))
	ask := w.ask()
	ask.Key = public
	r, err := restore.Begin(t.Context(), w.ports(), ask)
	require.NoError(t, err)
	require.Equal(t, w.digest("1"), r.Digest)
}

// moving is a registry in which a tag means another image as soon as it was read.
type moving struct {
	host.Registries
	read map[string]int
}

func (m moving) Open(ctx context.Context, a host.RegistryAccess) (host.Repository, error) {
	r, err := m.Registries.Open(ctx, a)
	return movingTags{r, m.read}, err
}

type movingTags struct {
	host.Repository
	read map[string]int
}

func (m movingTags) Manifest(ctx context.Context, tagOrDigest string) (host.Manifest, error) {
	m.read[tagOrDigest]++
	if tagOrDigest == seed.Tag(seedName) && m.read[tagOrDigest] > 1 {
		return host.Manifest{}, errors.New("the tag means another image now")
	}
	return m.Repository.Manifest(ctx, tagOrDigest)
}

// What was judged, and whose signature was proved, is what is restored: a tag may mean another image a moment later.
func TestTheJudgedImageIsRestoredWhereItsTagMoves(t *testing.T) {
	w := newWorld(t, false)
	ports := w.ports()
	tags := moving{ports.Registries, map[string]int{}}
	ports.Registries = tags
	var digest string
	err := w.node.Run(t.Context(), func(ctx context.Context) error {
		r, err := restore.Begin(ctx, ports, w.ask())
		if err != nil {
			return err
		}
		digest = r.Digest
		return restore.Run(ctx, ports, operation.Instruments{})
	})
	require.ErrorIs(t, err, hosttest.Rebooted)
	require.Equal(t, 1, tags.read[seed.Tag(seedName)])
	require.Positive(t, tags.read[digest])
	require.NoError(t, w.node.Settle(t.Context(), maxBoots))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "restored", verdict)
}
