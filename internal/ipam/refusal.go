package ipam

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Why a request was refused; errors.Is finds them in a Refusal.
var (
	ErrExhausted   = errors.New("exhausted")
	ErrOutside     = errors.New("not an address of the pool")
	ErrHeld        = errors.New("held by another claim")
	ErrReserved    = errors.New("reserved for another name")
	ErrQuarantined = errors.New("in quarantine")
	ErrConflict    = errors.New("conflicting wishes")
	ErrInUse       = errors.New("in use")
)

// Refusal says which pool refused what, and why, in one sentence.
type Refusal struct {
	Pool    string
	Address netip.Addr // where one was asked for
	Holder  string     // the claim that holds it, if any
	Why     error
	// RetryAt is when quarantine ends and the same request can succeed; zero where only
	// a release or another spec helps.
	RetryAt time.Time
	text    string
}

// Error is the sentence.
func (r *Refusal) Error() string { return "pool " + r.Pool + r.text }

// Unwrap is the reason.
func (r *Refusal) Unwrap() error { return r.Why }

func (p *Pool) newRefusal(why error, a netip.Addr, format string, args ...any) *Refusal {
	text := " " + fmt.Sprintf(format, args...)
	if a.IsValid() {
		text = ": address " + a.String() + text
	}
	return &Refusal{Pool: p.spec.Name, Address: a, Why: why, text: text}
}
