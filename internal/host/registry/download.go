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
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Get implements host.Repository.
func (r *repository) Get(ctx context.Context, digest string, size int64) (io.ReadCloser, error) {
	if _, err := parseDigest(digest); err != nil {
		return nil, err
	}
	if size < 0 {
		return nil, fmt.Errorf("blob %s of %s: %d is no size", digest, r.repo.Name(), size)
	}
	d := &download{repository: r, ctx: context.WithValue(ctx, longKey{}, true), digest: digest, size: size, sum: sha256.New()}
	if err := r.retryWhileAway(ctx, d.openRest); err != nil {
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
	size   int64 // of the whole, by its descriptor
	// fails are the tries since the last one that made progress, of which since is the end.
	fails int
	since int64
	sum   hash.Hash
	ended error
}

// openRest requests what is left. The request outlives the context of the try, so it has that of the whole.
func (d *download) openRest(context.Context) error {
	header := map[string]string{}
	codes := []int{http.StatusOK}
	if d.at > 0 {
		header["Range"], codes = d.rangeHeader(), []int{http.StatusPartialContent, http.StatusOK}
	}
	ctx, cancel := context.WithCancel(d.ctx)
	at := d.endpointURL("blobs/%s", d.digest)
	resp, err := d.sendRequest(ctx, http.MethodGet, at, nil, header) //nolint:contextcheck,bodyclose // see above
	if err != nil {
		cancel()
		return err
	}
	body := &arriving{ReadCloser: resp.Body, cancel: cancel, patience: d.o.Stall}
	err = checkResponse(resp, codes...)
	if err == nil {
		err = d.checkLength(resp)
	}
	if err != nil {
		body.Close()
		return err
	}
	if d.at > 0 && resp.StatusCode == http.StatusOK { // the registry knows no ranges
		if _, err := io.CopyN(io.Discard, body, d.at); err != nil {
			body.Close()
			return err
		}
	}
	d.body = body
	return nil
}

// checkLength refuses an answer that cannot be the blob, or what is left of it.
func (d *download) checkLength(resp *http.Response) error {
	part, want := resp.StatusCode == http.StatusPartialContent, d.size
	if part {
		want -= d.at
	}
	if have := resp.ContentLength; have >= 0 && have != want {
		return d.mismatchError(fmt.Sprintf("%d bytes instead of %d", have, want))
	}
	if at := resp.Header.Get("Content-Range"); part && at != "" && !strings.HasPrefix(at, fmt.Sprintf("bytes %d-", d.at)) {
		return d.mismatchError(fmt.Sprintf("%q instead of what begins at byte %d", at, d.at))
	}
	return nil
}

func (d *download) mismatchError(as string) error {
	return fmt.Errorf("blob %s of %s arrived as %s: it is not what was published", d.digest, d.repo.Name(), as)
}

// rangeHeader is what is left. Not every registry takes it without its end.
func (d *download) rangeHeader() string { return fmt.Sprintf("bytes=%d-%d", d.at, d.size-1) }

// minProgress is how much more has to arrive for a try to count as none. It bounds how often a blob is asked for.
const minProgress = 64 << 10

func (d *download) Read(b []byte) (int, error) {
	for d.ended == nil {
		n, err := d.body.Read(b[:min(int64(len(b)), d.size-d.at+1)]) // one more shows a longer one
		d.sum.Write(b[:n])
		if d.at += int64(n); d.at-d.since >= minProgress {
			d.fails, d.since = 0, d.at
		}
		switch {
		case d.at > d.size:
			d.ended = d.mismatchError(fmt.Sprintf("more than %d bytes", d.size))
			return 0, d.ended
		case err != nil && d.at == d.size:
			d.ended = io.EOF
			if have := "sha256:" + hex.EncodeToString(d.sum.Sum(nil)); have != d.digest {
				d.ended = d.mismatchError(have)
			}
		case errors.Is(err, io.EOF):
			d.ended = d.resumeAfter(io.ErrUnexpectedEOF)
		case err != nil:
			d.ended = d.resumeAfter(err)
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, d.ended
}

// resumeAfter opens the rest after a failure.
func (d *download) resumeAfter(cause error) error {
	d.body.Close()
	d.fails++
	if d.ctx.Err() != nil || d.fails > d.o.Tries {
		return fmt.Errorf("read blob %s of %s: %w", d.digest, d.repo.Name(), classifyError(cause))
	}
	d.o.Log.Warn("registry: the download continues", "blob", d.digest, "at", d.at, "error", cause)
	if err := d.retryWhileAway(d.ctx, d.openRest); err != nil {
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
