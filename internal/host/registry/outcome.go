package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// classifyError gives an error the outcome that it means; one that has an outcome already stays.
func classifyError(err error) error {
	var status *transport.Error
	var netErr net.Error
	switch {
	case err == nil, isClassified(err), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &status):
		return byStatus(status.StatusCode, err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%w: %w", host.ErrRegistryPlain, err)
	case isOutsideValidity(err):
		return fmt.Errorf("%w: %w", host.ErrRegistryClock, err)
	case isUntrusted(err):
		return fmt.Errorf("%w: %w", host.ErrRegistryTrust, err)
	case errors.As(err, &netErr), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", host.ErrRegistryAway, err)
	}
	return err
}

func isClassified(err error) bool {
	for _, known := range []error{
		host.ErrNoImage, host.ErrRegistryAway, host.ErrRegistryDenied, host.ErrRegistryFull, host.ErrRegistryTrust, host.ErrRegistryPlain,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

func isUntrusted(err error) bool {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	return errors.As(err, &unknown) || errors.As(err, &name) || errors.As(err, &invalid) || errors.As(err, &verify)
}

// isOutsideValidity says that a certificate is not valid yet, or not any more.
func isOutsideValidity(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired
}

// noSpace is how the registry of the distribution project reports a full disk: as the number of the error (ENOSPC).
const noSpace = "err:28"

func byStatus(code int, err error) error {
	switch text := strings.ToLower(err.Error()); {
	case code == http.StatusUnauthorized:
		return fmt.Errorf("%w: %w", host.ErrRegistryLogin, err)
	case code == http.StatusForbidden:
		return fmt.Errorf("%w: %w", host.ErrRegistryForbidden, err)
	case code == http.StatusInsufficientStorage, code == http.StatusRequestEntityTooLarge,
		strings.Contains(text, "no space left"), strings.Contains(text, "quota"), strings.Contains(text, noSpace):
		return fmt.Errorf("%w: %w", host.ErrRegistryFull, err)
	case code == http.StatusNotFound:
		return fmt.Errorf("%w: %w", host.ErrNoImage, err)
	case code == http.StatusTooManyRequests, code >= http.StatusInternalServerError && code != http.StatusNotImplemented:
		return fmt.Errorf("%w: %w", host.ErrRegistryAway, err)
	}
	return err
}

// checkResponse turns an answer into an error, unless it has one of the codes.
func checkResponse(resp *http.Response, codes ...int) error {
	err := classifyError(transport.CheckError(resp, codes...))
	if after := retryAfter(resp.Header); err != nil && after > 0 {
		return &busy{error: err, after: after}
	}
	return err
}

// busy is an answer that says when to ask again.
type busy struct {
	error
	after time.Duration
}

// Unwrap returns the error that the answer is.
func (b *busy) Unwrap() error { return b.error }

// longestPause bounds what a registry may ask for.
const longestPause = 2 * time.Minute

// retryAfter reads the header of that name; 0 stands for none.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), int(longestPause/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(time.Until(at), longestPause)
	}
	return 0
}

// pauseAfter is how long to wait after an error: the pause of this try, or what the registry asks for.
func pauseAfter(err error, pause time.Duration) time.Duration {
	var b *busy
	if errors.As(err, &b) {
		return max(pause, b.after)
	}
	return pause
}

// retryWhileAway tries again what failed because the registry was away. A try ends where nothing was sent or answered for a while:
// one over a slow line takes as long as it takes.
func (r *Registries) retryWhileAway(ctx context.Context, try func(context.Context) error) error {
	pause := r.o.Pause
	for n := 1; ; n++ {
		watch, stop := withStallWatch(ctx, r.o.Stall)
		err := classifyError(try(watch))
		if stop() && ctx.Err() == nil && err != nil {
			err = fmt.Errorf("%w: nothing was sent or answered for %s: %w", host.ErrRegistryAway, r.o.Stall, err)
		}
		if err == nil || !errors.Is(err, host.ErrRegistryAway) || errors.Is(err, errForgotten) || n >= r.o.Tries || ctx.Err() != nil {
			return err
		}
		r.o.Log.Warn("registry: trying again", "try", n, "of", r.o.Tries, "error", err)
		if serr := sleepContext(ctx, pauseAfter(err, pause)); serr != nil {
			return errors.Join(err, serr)
		}
		pause = min(2*pause, 30*time.Second)
	}
}

func sleepContext(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
