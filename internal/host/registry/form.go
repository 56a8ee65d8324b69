package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"slices"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// form is a way to send a blob; the OCI distribution specification has all of them, and not every registry takes each
// (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pushing-blobs).
type form int32

const (
	// formPieces is one PATCH for each piece: a broken connection costs a piece.
	formPieces form = iota
	// formStream is one PATCH without a range, as container tools send it.
	formStream
	// formWhole is one PUT with the digest, for which the content is produced twice.
	formWhole
)

func (f form) String() string {
	return [...]string{"in pieces", "in one stream", "in one request"}[f]
}

// errForm says that a registry does not take an upload of this form.
var errForm = errors.New("the registry does not take this form of upload")

// isFormRefused says that an answer is about the way in which a blob is sent, not about the blob.
func isFormRefused(err error) bool {
	var status *transport.Error
	return errors.As(err, &status) && slices.Contains([]int{http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusLengthRequired,
		http.StatusUnsupportedMediaType, http.StatusRequestedRangeNotSatisfiable, http.StatusNotImplemented}, status.StatusCode)
}

// uploadAsTaken sends a blob in the first form that the registry takes; blobs after it are sent in that form at once.
func (r *repository) uploadAsTaken(
	ctx context.Context, write func(context.Context, io.Writer) error,
) (digest string, size int64, err error) {
	uploads := [...]func(context.Context, func(context.Context, io.Writer) error) (string, int64, error){
		formPieces: r.uploadPieces, formStream: r.uploadStream, formWhole: r.uploadWhole,
	}
	var refused []error
	for f := form(r.form.Load()); ; f++ {
		digest, size, err = uploads[f](ctx, write)
		if !errors.Is(err, errForm) {
			return digest, size, err
		}
		refused = append(refused, fmt.Errorf("%s: %w", f, err))
		if f == formWhole {
			return "", 0, errors.Join(refused...)
		}
		r.form.Store(int32(f + 1))
		r.o.Log.Warn("registry: the blob is sent in another form", "refused", f, "next", f+1, "error", err)
	}
}

func (r *repository) uploadStream(ctx context.Context, write func(context.Context, io.Writer) error) (string, int64, error) {
	u := &upload{repository: r, sum: sha256.New()}
	err := r.sendWhole(ctx, write, u, func(ctx context.Context, body io.Reader) error {
		header, err := u.requestHeaders(ctx, http.MethodPatch, u.at, body, map[string]string{"Content-Type": "application/octet-stream"},
			http.StatusAccepted, http.StatusNoContent)
		if err == nil {
			u.at, err = u.uploadLocation(u.at, header)
		}
		return err
	})
	if err != nil {
		return "", 0, err
	}
	digest := "sha256:" + hex.EncodeToString(u.sum.Sum(nil))
	return digest, u.sent, u.completeUpload(ctx, digest)
}

func (r *repository) uploadWhole(ctx context.Context, write func(context.Context, io.Writer) error) (string, int64, error) {
	first := &countingHash{Hash: sha256.New()}
	if err := write(ctx, first); err != nil {
		return "", 0, fmt.Errorf("read what is to be sent: %w", err)
	}
	digest := "sha256:" + hex.EncodeToString(first.Sum(nil))
	u := &upload{repository: r, sum: sha256.New()}
	err := r.sendWhole(ctx, write, u, func(ctx context.Context, body io.Reader) error {
		at, err := withDigest(u.at, digest)
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, at, body)
		if err != nil {
			return err
		}
		req.ContentLength = first.size
		req.Header.Set("Content-Type", "application/octet-stream")
		resp, err := r.client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return checkResponse(resp, http.StatusCreated, http.StatusNoContent)
	})
	if sent := "sha256:" + hex.EncodeToString(u.sum.Sum(nil)); u.sent == first.size && sent != digest {
		return "", 0, fmt.Errorf("the content changed while it was sent: it was %s, and then %s", digest, sent)
	}
	return digest, first.size, err
}

// sendWhole produces the content once into one request. What breaks off is begun anew, by Put.
func (r *repository) sendWhole(
	ctx context.Context, write func(context.Context, io.Writer) error, u *upload, send func(context.Context, io.Reader) error,
) error {
	err := r.retryWhileAway(ctx, func(ctx context.Context) (err error) {
		u.at, err = r.beginUpload(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return r.retryWhileAway(ctx, func(ctx context.Context) error {
		reader, writer := io.Pipe()
		counter := &countingHash{Hash: u.sum}
		written := make(chan error, 1)
		go func() {
			err := write(ctx, io.MultiWriter(writer, counter))
			writer.CloseWithError(err)
			written <- err
		}()
		err := classifyError(send(ctx, &watched{reader, ctx}))
		reader.CloseWithError(context.Canceled) // no more is read where the registry has answered early
		werr := <-written
		u.sent = counter.size
		switch {
		case isFormRefused(err):
			return fmt.Errorf("%w: %w", errForm, err)
		case werr != nil && !errors.Is(werr, context.Canceled) && !errors.Is(werr, io.ErrClosedPipe): // the request has ended
			return fmt.Errorf("read what is to be sent: %w", werr)
		case errors.Is(err, host.ErrRegistryAway), errors.Is(err, host.ErrNoImage):
			return fmt.Errorf("%w: %w", errForgotten, err)
		case err == nil && werr != nil:
			return fmt.Errorf("%w: it answered before it had all", errForgotten)
		}
		return err
	})
}

// countingHash counts what it hashes.
type countingHash struct {
	hash.Hash
	size int64
}

func (c *countingHash) Write(p []byte) (int, error) {
	c.size += int64(len(p))
	return c.Hash.Write(p)
}
