package soak

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"time"
)

// Report is what a run leaves.
type Report struct {
	Machine string    `json:"machine"`
	Seed    uint64    `json:"seed"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	Rounds  []Round   `json:"rounds"`
	Lost    int       `json:"lost"`
}

// Round is one request, the power cuts while it was carried out, and what became of the node.
type Round struct {
	Flow string `json:"flow"`
	Cuts []Cut  `json:"cuts"`
	// Recovery is how long it took from the last cut, or from the request where there was none, until the node had settled; seconds.
	Recovery float64    `json:"recoverySeconds"`
	At       netip.Addr `json:"at"`
	Ended    string     `json:"ended"`
}

// Cut is one power cut.
type Cut struct {
	// After is how long after the request, or after the power came back, it went again; seconds.
	After float64   `json:"afterSeconds"`
	At    time.Time `json:"at"`
	// Step is what the node's journals have last before the cut.
	Step string `json:"step"`
}

// Cuts counts them all.
func (r Report) Cuts() int {
	n := 0
	for _, round := range r.Rounds {
		n += len(round.Cuts)
	}
	return n
}

// Summary is the run in one sentence.
func (r Report) Summary() string {
	settled := map[netip.Addr]int{} // those that did not settle are nowhere
	for _, round := range r.Rounds {
		settled[round.At]++
	}
	old, away := places()[0].address, places()[1].address
	return fmt.Sprintf("%s: %d power cuts in %d flows in %.0f s, %d nodes lost; settled %d times at %s, %d times at %s, not %d times; seed %d",
		r.Machine, r.Cuts(), len(r.Rounds), r.Seconds, r.Lost, settled[old], old, settled[away], away, settled[netip.Addr{}], r.Seed)
}

// tell prints a round that has ended; the cuts before it are counted in the lines.
func (r Round) tell(out io.Writer, before, of int) {
	for i, c := range r.Cuts {
		fmt.Fprintf(out, "[%d/%d] %-8s cut after %6.1f s (%s)\n", before+i+1, of, r.Flow, c.After, c.Step)
	}
	where := "nowhere"
	if r.At.IsValid() {
		where = fmt.Sprintf("at %s after %.1f s", r.At, r.Recovery)
	}
	fmt.Fprintf(out, "%8s%-8s %s: %s\n", "", r.Flow, where, r.Ended)
}

// Write leaves the report as JSON.
func (r Report) Write(file string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}
