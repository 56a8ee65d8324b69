package netpolicy

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/probing"
)

// Phases in which an enactment fails, as evidence names them.
const (
	PhaseResolve  = "Resolve"
	PhaseValidate = "Validate"
	PhaseApply    = "Apply"
	PhaseVerify   = "Verify"
	PhaseProbe    = "Probe"
	PhaseCommit   = "Commit"
	PhaseRollback = "Rollback"
)

// MaxEvidence bounds an Evidence as JSON, in bytes: it travels in the status of an object, once for each node and policy.
const MaxEvidence = 1024

// Evidence says in fields why an enactment failed. The whole story is in the journal and the log of the unit.
type Evidence struct {
	Phase   string `json:"phase"`
	Message string `json:"message,omitempty"`
	// Mismatches are keys of the document whose value on the node is another one.
	Mismatches []Mismatch `json:"mismatches,omitempty"`
	// Probe is the one that failed.
	Probe *ProbeResult `json:"probe,omitempty"`
	// RolledBack: the former network is in force.
	RolledBack bool `json:"rolledBack,omitempty"`
	// Passing: the document had no part in the failure, and may succeed as it is.
	Passing bool `json:"passing,omitempty"`
	// RetryAt is when it passes at the latest, where that is known.
	RetryAt time.Time `json:"retryAt,omitzero"`
}

// Mismatch is one key that is not as desired, for example interfaces[eth1].mtu.
type Mismatch struct {
	Key  string `json:"key"`
	Want string `json:"want,omitempty"`
	Got  string `json:"got,omitempty"`
}

// ProbeResult is a probe and what came of it.
type ProbeResult struct {
	Name    string `json:"name"`
	Target  string `json:"target,omitempty"`
	Message string `json:"message,omitempty"`
}

// Permanent says that the document would fail again on any network: a retry is of no use.
func (e Evidence) Permanent() bool { return e.Phase == PhaseValidate }

// Clipped returns the evidence within MaxEvidence: the last mismatches are left out first, then texts are shortened.
func (e Evidence) Clipped() Evidence {
	for len(e.Mismatches) > 1 && e.encodedSize() > MaxEvidence {
		e.Mismatches = e.Mismatches[:len(e.Mismatches)-1]
	}
	if len(e.Mismatches) > 0 && e.encodedSize() > MaxEvidence {
		m := e.Mismatches[0]
		e.Mismatches = []Mismatch{{Key: shortenText(m.Key, 128), Want: shortenText(m.Want, 64), Got: shortenText(m.Got, 64)}}
	}
	if e.Probe != nil && e.encodedSize() > MaxEvidence {
		e.Probe = &ProbeResult{
			Name:    shortenText(e.Probe.Name, 63),
			Target:  shortenText(e.Probe.Target, 128),
			Message: shortenText(e.Probe.Message, 128),
		}
	}
	for keep := len(e.Message); keep > 0 && e.encodedSize() > MaxEvidence; keep /= 2 {
		e.Message = shortenText(e.Message, keep)
	}
	return e
}

const ellipsis = "..."

func shortenText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:max(limit-len(ellipsis), 0)], "") + ellipsis
}

func (e Evidence) encodedSize() int {
	data, err := json.Marshal(e)
	if err != nil {
		return 0 // strings always encode
	}
	return len(data)
}

// failedIn is the error of a phase, with what is known of the place.
type failedIn struct {
	phase string
	cause error
}

func (e *failedIn) Error() string { return e.cause.Error() }

func (e *failedIn) Unwrap() error { return e.cause }

// inPhase marks an error with its phase.
func inPhase(phase string, cause error) error {
	if cause == nil {
		return nil
	}
	return &failedIn{phase, cause}
}

// evidenceOf reads the evidence out of an error.
func evidenceOf(err error) Evidence {
	e := Evidence{Phase: PhaseApply, Message: err.Error()}
	if f := (*failedIn)(nil); errors.As(err, &f) {
		e.Phase = f.phase
	}
	// A network that is committed and could not be recorded is recorded by another attempt.
	e.Passing = e.Phase == PhaseCommit || errors.Is(err, errUnprovable) ||
		errors.Is(err, host.ErrNetworkUnavailable) || errors.Is(err, host.ErrNetworkPending)
	if p, ok := probing.Failed(err); ok {
		e.Phase = PhaseProbe
		e.Probe = &ProbeResult{Name: p.Probe.Title(), Target: p.Probe.Target(), Message: p.Cause.Error()}
	}
	return e.Clipped()
}

func (m Mismatch) String() string {
	if m.Want == "" && m.Got == "" {
		return m.Key
	}
	return m.Key + " is " + m.Got + " instead of " + m.Want
}
