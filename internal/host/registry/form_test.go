package registry_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Registries that are in use take uploads in other forms than pieces: some refuse ranges (416, 400), some know no PATCH at all (405).
func TestABlobIsSentInTheFormThatTheRegistryTakes(t *testing.T) {
	for name, refused := range map[string]func(r *http.Request) int{
		"no ranges": func(r *http.Request) int {
			if r.Header.Get("Content-Range") != "" {
				return http.StatusRequestedRangeNotSatisfiable
			}
			return 0
		},
		"no pieces": func(r *http.Request) int {
			if r.Method == http.MethodPatch && r.ContentLength > 0 {
				return http.StatusBadRequest
			}
			return 0
		},
		"no PATCH": func(r *http.Request) int {
			if r.Method == http.MethodPatch {
				return http.StatusMethodNotAllowed
			}
			return 0
		},
		"no PATCH, no chunks": func(r *http.Request) int {
			if r.Method == http.MethodPatch {
				return http.StatusNotImplemented
			}
			if r.Method == http.MethodPut && r.ContentLength < 0 {
				return http.StatusLengthRequired
			}
			return 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			var refusals atomic.Int32
			r, err := open(t, serve(t, broken(func(w http.ResponseWriter, req *http.Request) bool {
				code := refused(req)
				if code == 0 {
					return false
				}
				refusals.Add(1)
				w.WriteHeader(code)
				return true
			})))
			require.NoError(t, err)
			for _, n := range []int{300 << 10, 100 << 10, 10} {
				data := content(n)
				require.NoError(t, put(t, r, data))
				back, err := get(t, r, data)
				require.NoError(t, err)
				require.True(t, bytes.Equal(data, back))
			}
			require.LessOrEqual(t, refusals.Load(), int32(2), "the second blob goes in the right form at once")
		})
	}
}

func TestAStreamThatBreaksOffBeginsAnew(t *testing.T) {
	for name, method := range map[string]string{"stream": http.MethodPatch, "one request": http.MethodPut} {
		t.Run(name, func(t *testing.T) {
			var broke atomic.Bool
			r, err := open(t, serve(t, broken(func(w http.ResponseWriter, req *http.Request) bool {
				if req.Method == http.MethodPatch && (method == http.MethodPut || req.Header.Get("Content-Range") != "") {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return true
				}
				if req.Method != method || broke.Swap(true) {
					return false
				}
				_, _ = io.CopyN(io.Discard, req.Body, 1000)
				conn, _, err := w.(http.Hijacker).Hijack()
				if err == nil {
					conn.Close()
				}
				return true
			})))
			require.NoError(t, err)
			data := content(300 << 10)
			require.NoError(t, put(t, r, data))
			require.True(t, broke.Load())
			back, err := get(t, r, data)
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, back))
		})
	}
}

func TestARegistryThatTakesNoForm(t *testing.T) {
	r, err := open(t, serve(t, broken(func(w http.ResponseWriter, req *http.Request) bool {
		if req.Method != http.MethodPatch && req.Method != http.MethodPut {
			return false
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
		return true
	})))
	require.NoError(t, err)
	err = put(t, r, content(1000))
	require.ErrorContains(t, err, "in pieces")
	require.ErrorContains(t, err, "in one stream")
	require.ErrorContains(t, err, "in one request")
	require.NotErrorIs(t, err, host.ErrRegistryAway)
}

func TestAContentThatChangesIsNamed(t *testing.T) {
	r, err := open(t, serve(t, broken(func(w http.ResponseWriter, req *http.Request) bool {
		if req.Method != http.MethodPatch {
			return false
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
		return true
	})))
	require.NoError(t, err)
	var times byte
	_, _, err = r.Put(t.Context(), func(_ context.Context, w io.Writer) error {
		times++
		_, err := w.Write(bytes.Repeat([]byte{times}, 1000))
		return err
	})
	require.ErrorContains(t, err, "the content changed while it was sent")
	require.NotContains(t, err.Error(), "does not take this form")
}

func TestASourceThatBreaksIsNotTheRegistrysFault(t *testing.T) {
	r, err := open(t, serve(t, broken(func(w http.ResponseWriter, req *http.Request) bool {
		if req.Header.Get("Content-Range") == "" {
			return false
		}
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		return true
	})))
	require.NoError(t, err)
	torn := errors.New("the disk is torn")
	_, _, err = r.Put(t.Context(), func(_ context.Context, w io.Writer) error {
		_, _ = w.Write(content(1000))
		return torn
	})
	require.ErrorIs(t, err, torn)
	require.NotErrorIs(t, err, host.ErrRegistryAway)
}
