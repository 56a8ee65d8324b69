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

// authenticator allows one session at a time and limits wrong codes per client.
type authenticator struct {
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

func newAuthenticator(o Options) *authenticator {
	d := &authenticator{options: o, tries: attempts{}, guesses: rate.NewLimiter(maxGuesses, guessBurst)}
	d.renewCode()
	return d
}

// renewCode makes another code, unbiased.
func (d *authenticator) renewCode() {
	const codes, whole = 100_000_000, 1<<64 - 1
	for {
		n := binary.BigEndian.Uint64(d.randomBytes(8))
		if n < whole-whole%codes {
			d.code = fmt.Sprintf("%0*d", codeDigits, n%codes)
			break
		}
	}
	if d.options.ShowCode != nil {
		d.options.ShowCode(d.code[:4] + " " + d.code[4:])
	}
}

func (d *authenticator) randomBytes(n int) []byte {
	out := make([]byte, n)
	if _, err := io.ReadFull(d.options.Rand, out); err != nil {
		panic(fmt.Sprintf("portal: no random numbers: %v", err)) // crypto/rand never fails
	}
	return out
}

func (d *authenticator) randomText() string {
	return base64.RawURLEncoding.EncodeToString(d.randomBytes(32))
}

// openSession compares a code in constant time. The right one is used up, and ends the session of the browser before. from is the
// address of the browser: what another one tried does not make it wait.
func (d *authenticator) openSession(from netip.Addr, code string) (s *session, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.options.Now()
	if wait := d.tries.remainingBlock(from, now); wait > 0 {
		return nil, wait
	}
	if !d.guesses.AllowN(now, 1) {
		return nil, time.Second
	}
	typed := strings.NewReplacer(" ", "", "-", "").Replace(code)
	if subtle.ConstantTimeCompare([]byte(typed), []byte(d.code)) != 1 {
		d.options.Log.Warn("the page refused a wrong code", "from", from, "attempt", d.tries.recordFailure(from, now))
		return nil, d.tries.remainingBlock(from, now)
	}
	d.tries.forgetClient(from)
	d.session = &session{id: d.randomText(), token: d.randomText(), expires: now.Add(sessionLife)}
	d.renewCode()
	return d.session, 0
}

// requestSession is the session of a request.
func (d *authenticator) requestSession(r *http.Request) *session {
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

// requireSession serves a page to the session only, and a change only with the session's token.
func (d *authenticator) requireSession(page, login http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := d.requestSession(r)
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
