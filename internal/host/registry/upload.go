package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// restarts is how often an upload begins anew, where the registry has forgotten what it had of it.
const restarts = 3

// errForgotten says that an upload cannot be resumed.
var errForgotten = fmt.Errorf("%w: it has forgotten what it had of the upload", host.ErrRegistryAway)

// proveWrite begins an upload and gives it up.
func (r *repository) proveWrite(ctx context.Context) error {
	return r.retryWhileAway(ctx, func(ctx context.Context) error {
		at, err := r.beginUpload(ctx)
		if err != nil {
			return err
		}
		// A registry that cannot cancel removes it after a while.
		_, err = r.requestHeaders(ctx, http.MethodDelete, at, nil, nil, http.StatusNoContent, http.StatusAccepted, http.StatusOK)
		if errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	})
}

// beginUpload returns the location of a new upload.
func (r *repository) beginUpload(ctx context.Context) (string, error) {
	header, err := r.requestHeaders(ctx, http.MethodPost, r.endpointURL("blobs/uploads/"), nil, nil, http.StatusAccepted)
	if errors.Is(err, host.ErrNoImage) { // some registries hide a repository so
		return "", fmt.Errorf("%w: %w", host.ErrRegistryDenied, err)
	}
	if err != nil {
		return "", err
	}
	return r.uploadLocation(r.endpointURL("blobs/uploads/"), header)
}

func (r *repository) uploadLocation(base string, header http.Header) (string, error) {
	b, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("parse the repository's address: %w", err)
	}
	l, err := b.Parse(header.Get("Location"))
	if err != nil || header.Get("Location") == "" {
		return "", errors.New("the registry gave no usable location for the upload")
	}
	return l.String(), nil
}

// Put implements host.Repository.
func (r *repository) Put(ctx context.Context, write func(context.Context, io.Writer) error) (digest string, size int64, err error) {
	for n := 1; ; n++ {
		digest, size, err = r.uploadAsTaken(ctx, write)
		if !errors.Is(err, errForgotten) || n == restarts {
			break
		}
		r.o.Log.Warn("registry: the upload begins anew", "error", err)
	}
	if err != nil {
		return "", 0, fmt.Errorf("upload to %s: %w", r.repo.Name(), err)
	}
	return digest, size, nil
}

// uploadPieces sends a blob in pieces of which each can be repeated.
func (r *repository) uploadPieces(ctx context.Context, write func(context.Context, io.Writer) error) (string, int64, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	u := &upload{repository: r, sum: sha256.New()}
	err := r.retryWhileAway(ctx, func(ctx context.Context) (err error) {
		u.at, err = r.beginUpload(ctx)
		return err
	})
	if err != nil {
		return "", 0, err
	}
	for piece := range r.readPieces(ctx, write) {
		if piece.err != nil {
			return "", 0, fmt.Errorf("read what is to be sent: %w", piece.err)
		}
		if err := u.sendPiece(ctx, piece.data); err != nil {
			return "", 0, err
		}
	}
	if err := ctx.Err(); err != nil {
		return "", 0, err
	}
	digest := "sha256:" + hex.EncodeToString(u.sum.Sum(nil))
	return digest, u.sent, u.completeUpload(ctx, digest)
}

// piece is a part of a blob, or the reason why there is none.
type piece struct {
	data []byte
	err  error
}

// readPieces produces the content piece by piece, one ahead of the one that is being sent. The buffers take turns: a piece is
// valid until the one after the next is asked for.
func (r *repository) readPieces(ctx context.Context, write func(context.Context, io.Writer) error) <-chan piece {
	out := make(chan piece)
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(write(ctx, writer)) }()
	go func() {
		defer close(out)
		defer reader.CloseWithError(context.Canceled)
		buffers := [3][]byte{}
		for i := 0; ; i = (i + 1) % len(buffers) {
			if buffers[i] == nil {
				buffers[i] = make([]byte, r.o.Chunk)
			}
			n, err := io.ReadFull(reader, buffers[i])
			end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
			p := piece{data: buffers[i][:n]}
			if err != nil && !end {
				p = piece{err: err}
			}
			select {
			case out <- p:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

// upload is one upload under way.
type upload struct {
	*repository
	at   string
	sent int64
	sum  hash.Hash
}

// sendPiece brings one piece to the registry, and resumes in the middle of it where the connection broke.
func (u *upload) sendPiece(ctx context.Context, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	u.sum.Write(data)
	from, end := u.sent, u.sent+int64(len(data))
	broken := false
	err := u.retryWhileAway(ctx, func(ctx context.Context) error {
		if broken {
			have, err := u.receivedSize(ctx)
			if err != nil {
				return err
			}
			if have < from || have > end {
				return errForgotten
			}
			u.sent = have
		}
		if u.sent == end {
			return nil
		}
		broken = true
		header, err := u.requestHeaders(ctx, http.MethodPatch, u.at, bytes.NewReader(data[u.sent-from:]), map[string]string{
			"Content-Type": "application/octet-stream", "Content-Range": fmt.Sprintf("%d-%d", u.sent, end-1),
		}, http.StatusAccepted, http.StatusNoContent)
		if errors.Is(err, host.ErrNoImage) {
			return errForgotten
		}
		if u.sent == 0 && isFormRefused(err) {
			return fmt.Errorf("%w: %w", errForm, err)
		}
		if err != nil {
			return err
		}
		u.sent = end
		u.at, err = u.uploadLocation(u.at, header)
		return err
	})
	if err != nil {
		return fmt.Errorf("send bytes %d to %d: %w", from, end, err)
	}
	return nil
}

// receivedSize asks how much of the upload has arrived.
func (u *upload) receivedSize(ctx context.Context) (int64, error) {
	header, err := u.requestHeaders(ctx, http.MethodGet, u.at, nil, nil, http.StatusNoContent, http.StatusOK)
	if errors.Is(err, host.ErrRegistryAway) || errors.Is(err, host.ErrRegistryDenied) || errors.Is(err, context.Canceled) {
		return 0, err
	}
	if err != nil {
		return 0, errForgotten
	}
	if at, err := u.uploadLocation(u.at, header); err == nil {
		u.at = at
	}
	// "0-0" also stands for nothing at all (https://github.com/opencontainers/distribution-spec/issues/578).
	_, last, ok := strings.Cut(strings.TrimPrefix(header.Get("Range"), "bytes="), "-")
	n, err := strconv.ParseInt(last, 10, 64)
	if !ok || err != nil {
		return 0, errForgotten
	}
	if n == 0 {
		return 0, nil
	}
	return n + 1, nil
}

// completeUpload closes the upload. Where the answer got lost the blob is there.
func (u *upload) completeUpload(ctx context.Context, digest string) error {
	at, err := withDigest(u.at, digest)
	if err != nil {
		return fmt.Errorf("parse the address of the upload: %w", err)
	}
	return u.retryWhileAway(ctx, func(ctx context.Context) error {
		_, err := u.requestHeaders(ctx, http.MethodPut, at, nil, nil, http.StatusCreated, http.StatusNoContent)
		if errors.Is(err, host.ErrNoImage) {
			if there, herr := u.Has(ctx, digest); herr == nil && there {
				return nil
			}
			return errForgotten
		}
		return err
	})
}

// withDigest is the location of an upload that is to be closed.
func withDigest(location, digest string) (string, error) {
	at, err := url.Parse(location)
	if err != nil {
		return "", fmt.Errorf("read the location of the upload: %w", err)
	}
	q := at.Query()
	q.Set("digest", digest)
	at.RawQuery = q.Encode()
	return at.String(), nil
}
