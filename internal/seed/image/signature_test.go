package image_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

const name = "registry.example.com/team/seed:1"

func repository(t *testing.T) host.Repository {
	t.Helper()
	r, err := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"}).Registries(hosttest.NewRegistry()).
		Open(t.Context(), host.RegistryAccess{Image: name, Push: true})
	require.NoError(t, err)
	return r
}

// publish publishes an image of these contents and returns its digest.
func publish(t *testing.T, r host.Repository, tag string, contents ...image.Content) string {
	t.Helper()
	p := &image.Publisher{Repository: r, Tag: tag}
	for _, c := range contents {
		require.NoError(t, p.Add(t.Context(), c))
	}
	done, err := p.Finish(t.Context(), "amd64", map[string]string{image.LabelFormat: image.FormatVersion, image.LabelCluster: "{}"})
	require.NoError(t, err)
	return done.Digest
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

func signatureOf(digest string) string { return strings.Replace(digest, ":", "-", 1) + ".sig" }

// Who can write to a registry can put any signature of the key beside any image.
func TestASignatureIsOfOneImageAndOneKey(t *testing.T) {
	ctx, r, key := t.Context(), repository(t), newKey(t)
	signed := publish(t, r, "1", image.Bytes(image.Manifest, 0o644, []byte("{}")))
	other := publish(t, r, "2", image.Bytes(image.Manifest, 0o644, []byte(`{"forged":true}`)))
	require.NotEqual(t, signed, other)
	require.ErrorIs(t, image.VerifySignature(ctx, r, signed, key.Public()), image.ErrUnsigned)
	require.NoError(t, image.Sign(ctx, r, name, signed, key))
	require.NoError(t, image.VerifySignature(ctx, r, signed, key.Public()))
	require.ErrorIs(t, image.VerifySignature(ctx, r, signed, newKey(t).Public()), image.ErrUnsigned)

	moved, err := r.Manifest(ctx, signatureOf(signed))
	require.NoError(t, err)
	_, err = r.PutManifest(ctx, signatureOf(other), moved.MediaType, moved.Data)
	require.NoError(t, err)
	require.ErrorIs(t, image.VerifySignature(ctx, r, other, key.Public()), image.ErrUnsigned)
}

// A statement that was changed after it was signed names another image, and its signature is none.
func TestAStatementThatWasChangedIsNotSigned(t *testing.T) {
	ctx, r, key := t.Context(), repository(t), newKey(t)
	signed := publish(t, r, "1", image.Bytes(image.Manifest, 0o644, []byte("{}")))
	other := publish(t, r, "2", image.Bytes(image.Manifest, 0o644, []byte(`{"forged":true}`)))
	require.NoError(t, image.Sign(ctx, r, name, signed, key))
	m, err := r.Manifest(ctx, signatureOf(signed))
	require.NoError(t, err)
	var doc map[string]any
	require.NoError(t, json.Unmarshal(m.Data, &doc))
	layer := doc["layers"].([]any)[0].(map[string]any)
	body, err := r.Get(ctx, layer["digest"].(string), int64(layer["size"].(float64)))
	require.NoError(t, err)
	statement, err := io.ReadAll(body)
	require.NoError(t, err)
	forged := strings.Replace(string(statement), signed, other, 1)
	layer["digest"], layer["size"], err = r.Put(ctx, func(_ context.Context, to io.Writer) error {
		_, err := io.WriteString(to, forged)
		return err
	})
	require.NoError(t, err)
	data, err := json.Marshal(doc)
	require.NoError(t, err)
	_, err = r.PutManifest(ctx, signatureOf(other), m.MediaType, data)
	require.NoError(t, err)
	require.ErrorIs(t, image.VerifySignature(ctx, r, other, key.Public()), image.ErrUnsigned)
}

// lying answers with another manifest than it is asked for, and calls it that one.
type lying struct {
	host.Repository
	says string
}

func (l lying) Manifest(_ context.Context, tagOrDigest string) (host.Manifest, error) {
	return host.Manifest{Digest: tagOrDigest, Data: []byte(l.says)}, nil
}

// The digest is that of what was read, whatever answers: it is what is signed, and by which every later step reads.
func TestAnImageIsTheOneOfItsDigest(t *testing.T) {
	r := repository(t)
	digest := publish(t, r, "1", image.Bytes(image.Manifest, 0o644, []byte("{}")))
	other := publish(t, r, "2", image.Bytes(image.Manifest, 0o644, []byte(`{"forged":true}`)))
	m, err := r.Manifest(t.Context(), other)
	require.NoError(t, err)
	_, err = image.Open(t.Context(), lying{r, string(m.Data)}, digest)
	require.ErrorContains(t, err, "not the image that was asked for")
	i, err := image.Open(t.Context(), lying{r, string(m.Data)}, "1")
	require.NoError(t, err)
	require.Equal(t, other, i.Digest)
	sum := sha256.Sum256(m.Data)
	require.Equal(t, "sha256:"+hex.EncodeToString(sum[:]), i.Digest)
}

func TestASignatureOfManyIsNotSearchedForEver(t *testing.T) {
	r := repository(t)
	digest := publish(t, r, "1", image.Bytes(image.Manifest, 0o644, []byte("{}")))
	layers := strings.Repeat(`{"digest":"sha256:00","size":1},`, 101)
	_, err := r.PutManifest(t.Context(), signatureOf(digest), "application/json", fmt.Appendf(nil, `{"layers":[%s]}`, strings.TrimSuffix(layers, ",")))
	require.NoError(t, err)
	require.ErrorContains(t, image.VerifySignature(t.Context(), r, digest, newKey(t).Public()), "101 signatures")
}
