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

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Get implements host.Repository.
func (r *repository) Get(ctx context.Context, digest string) (io.ReadCloser, error) {
	if _, err := parse(digest); err != nil {
		return nil, err
	}
	d := &download{repository: r, ctx: ctx, digest: digest, sum: sha256.New()}
	if err := r.retry(ctx, d.open); err != nil {
		return nil, fmt.Errorf("read blob %s of %s: %w", digest, r.repo.Name(), err)
	}
	return d, nil
}

// download reads a blob and continues where the connection broke.
type download struct {
	*repository
	ctx    context.Context
	digest string
	body   io.ReadCloser
	at     int64
	size   int64 // of the whole, -1 where the registry does not say
	fails  int
	sum    hash.Hash
	ended  error
}

// open requests what is left. The request outlives the context of the try, so it has that of the whole.
func (d *download) open(context.Context) error {
	header := map[string]string{}
	codes := []int{http.StatusOK}
	if d.at > 0 {
		header["Range"], codes = d.rest(), []int{http.StatusPartialContent, http.StatusOK}
	}
	ctx, cancel := context.WithCancel(d.ctx)
	resp, err := d.do(ctx, http.MethodGet, d.url("blobs/%s", d.digest), nil, header) //nolint:contextcheck,bodyclose // see above
	if err != nil {
		cancel()
		return err
	}
	body := &arriving{ReadCloser: resp.Body, cancel: cancel, patience: d.o.Stall}
	if err := check(resp, codes...); err != nil {
		body.Close()
		return err
	}
	if d.at > 0 && resp.StatusCode == http.StatusOK { // the registry knows no ranges
		if _, err := io.CopyN(io.Discard, body, d.at); err != nil {
			body.Close()
			return err
		}
	}
	if d.at == 0 {
		d.size = resp.ContentLength
	}
	d.body = body
	return nil
}

// rest is what is left, with its end where that is known: not every registry takes it without.
func (d *download) rest() string {
	if d.size <= d.at {
		return fmt.Sprintf("bytes=%d-", d.at)
	}
	return fmt.Sprintf("bytes=%d-%d", d.at, d.size-1)
}

func (d *download) Read(b []byte) (int, error) {
	for d.ended == nil {
		n, err := d.body.Read(b)
		d.sum.Write(b[:n])
		d.at += int64(n)
		switch {
		case errors.Is(err, io.EOF):
			d.ended = io.EOF
			if have := "sha256:" + hex.EncodeToString(d.sum.Sum(nil)); have != d.digest {
				d.ended = fmt.Errorf("blob %s of %s arrived as %s: it is not what was published", d.digest, d.repo.Name(), have)
			}
		case err != nil:
			d.ended = d.resume(err)
		}
		if n > 0 {
			d.fails = 0 // there is progress
			return n, nil
		}
	}
	return 0, d.ended
}

// resume opens the rest after a failure.
func (d *download) resume(cause error) error {
	d.body.Close()
	d.fails++
	if d.ctx.Err() != nil || d.fails > d.o.Tries {
		return fmt.Errorf("read blob %s of %s: %w", d.digest, d.repo.Name(), classify(cause))
	}
	d.o.Log.Warn("registry: the download continues", "blob", d.digest, "at", d.at, "error", cause)
	if err := d.retry(d.ctx, d.open); err != nil {
		return fmt.Errorf("read blob %s of %s: %w", d.digest, d.repo.Name(), err)
	}
	return nil
}

func (d *download) Close() error {
	if d.ended == nil {
		d.ended = host.ErrRegistryAway
	}
	return d.body.Close()
}
