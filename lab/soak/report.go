package soak

import (
	"encoding/json"
	"fmt"
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
	Cuts    []Cut     `json:"cuts"`
	Lost    int       `json:"lost"`
}

// Cut is one power cut.
type Cut struct {
	Number int    `json:"number"`
	Flow   string `json:"flow"`
	// After is how long after the request the power went, Recovery how long until the node had settled; seconds.
	After    float64 `json:"afterSeconds"`
	Recovery float64 `json:"recoverySeconds"`
	// Step is what the node's journal has last before the cut.
	Step  string     `json:"step"`
	At    netip.Addr `json:"at"`
	Ended string     `json:"ended"`
}

func (c Cut) line(n, of int) string {
	return fmt.Sprintf("[%d/%d] %-8s cut after %6.1f s (%s): at %s after %.1f s: %s", n, of, c.Flow, c.After, c.Step, c.At, c.Recovery, c.Ended)
}

// Summary is the run in one sentence.
func (r Report) Summary() string {
	places := map[netip.Addr]int{}
	for _, c := range r.Cuts {
		places[c.At]++
	}
	old, away := places[placesAt(0)], places[placesAt(1)]
	return fmt.Sprintf("%s: %d power cuts in %.0f s, %d nodes lost; settled %d times at %s, %d times at %s; seed %d",
		r.Machine, len(r.Cuts), r.Seconds, r.Lost, old, placesAt(0), away, placesAt(1), r.Seed)
}

func placesAt(i int) netip.Addr { return places()[i].address }

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
