package portal

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// door allows one session at a time and limits wrong codes per client.
type door struct {
	options Options

	mu      sync.Mutex
	code    string
	tries   attempts
	guesses *rate.Limiter
	session *session
}

// session belongs to one browser.
type session struct {
	id, token string
	expires   time.Time
}

const (
	codeDigits    = 8
	sessionLife   = 8 * time.Hour
	sessionCookie = "__Host-lca-session"
	// maxGuesses codes a second are compared at most, whoever types them: one address is blocked long before.
	maxGuesses, guessBurst = 10, 100
)

func newDoor(o Options) *door {
	d := &door{options: o, tries: attempts{}, guesses: rate.NewLimiter(maxGuesses, guessBurst)}
	d.renew()
	return d
}

// renew makes another code, unbiased.
func (d *door) renew() {
	const codes, whole = 100_000_000, 1<<64 - 1
	for {
		n := binary.BigEndian.Uint64(d.bytes(8))
		if n < whole-whole%codes {
			d.code = fmt.Sprintf("%0*d", codeDigits, n%codes)
			break
		}
	}
	if d.options.ShowCode != nil {
		d.options.ShowCode(d.code[:4] + " " + d.code[4:])
	}
}

func (d *door) bytes(n int) []byte {
	out := make([]byte, n)
	if _, err := io.ReadFull(d.options.Rand, out); err != nil {
		panic(fmt.Sprintf("portal: no random numbers: %v", err)) // crypto/rand never fails
	}
	return out
}

func (d *door) text() string { return base64.RawURLEncoding.EncodeToString(d.bytes(32)) }

// enter compares a code in constant time. The right one is used up, and ends the session of the browser before. from is the
// address of the browser: what another one tried does not make it wait.
func (d *door) enter(from netip.Addr, code string) (s *session, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.options.Now()
	if wait := d.tries.wait(from, now); wait > 0 {
		return nil, wait
	}
	if !d.guesses.AllowN(now, 1) {
		return nil, time.Second
	}
	typed := strings.NewReplacer(" ", "", "-", "").Replace(code)
	if subtle.ConstantTimeCompare([]byte(typed), []byte(d.code)) != 1 {
		d.options.Log.Warn("the page refused a wrong code", "from", from, "attempt", d.tries.failed(from, now))
		return nil, d.tries.wait(from, now)
	}
	d.tries.forget(from)
	d.session = &session{id: d.text(), token: d.text(), expires: now.Add(sessionLife)}
	d.renew()
	return d.session, 0
}

// known is the session of a request.
func (d *door) known(r *http.Request) *session {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.session
	if s == nil || d.options.Now().After(s.expires) || subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(s.id)) != 1 {
		return nil
	}
	return s
}

type sessionKey struct{}

func sessionOf(r *http.Request) *session {
	s, _ := r.Context().Value(sessionKey{}).(*session)
	return s
}

// guard serves a page to the session only, and a change only with the session's token.
func (d *door) guard(page, login http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := d.known(r)
		if s == nil {
			if r.Method != http.MethodGet || strings.HasSuffix(r.URL.Path, ".json") {
				http.Error(w, "type the code first, on the first page", http.StatusUnauthorized)
				return
			}
			login(w, r)
			return
		}
		if r.Method == http.MethodPost && subtle.ConstantTimeCompare([]byte(formToken(r)), []byte(s.token)) != 1 {
			http.Error(w, "this form is too old, or too large; open the first page again", http.StatusForbidden)
			return
		}
		page(w, r.WithContext(context.WithValue(r.Context(), sessionKey{}, s)))
	}
}

// formMemory is how much of an upload is held in memory, in bytes; no more than maxBody arrives.
const formMemory = maxBody

func formToken(r *http.Request) string {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		if err := r.ParseMultipartForm(formMemory); err != nil {
			return ""
		}
	}
	return r.PostFormValue("token")
}
