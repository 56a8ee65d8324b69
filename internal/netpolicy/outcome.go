package netpolicy

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/probing"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

const outcomeDir = record.Dir + "/outcome"

// Results of an enactment.
const (
	// ResultUnchanged: the node had the document in force already.
	ResultUnchanged = "Unchanged"
	// ResultChanged: the document was applied, proved and committed.
	ResultChanged = "Changed"
	// ResultFailed: the evidence says whether the former network is in force.
	ResultFailed = "Failed"
)

// Outcome is how the latest enactment of a policy ended.
type Outcome struct {
	Version    int    `json:"v"`
	Operation  string `json:"operation"`
	Action     string `json:"action"`
	Policy     string `json:"policy"`
	UID        string `json:"uid,omitempty"`
	Generation int64  `json:"generation"`
	Attempt    int    `json:"attempt,omitempty"`
	Result     string `json:"result"`
	// Document is the resolved one and Changes what it changed; both empty where it could not be resolved.
	Document string            `json:"document,omitempty"`
	Changes  []Change          `json:"changes,omitempty"`
	Captured map[string]string `json:"captured,omitempty"`
	// Required are the probes that passed, Skipped those that were not asked for, with the reason.
	Required []string          `json:"required,omitempty"`
	Skipped  []probing.Skipped `json:"skipped,omitempty"`
	// Depends is what the document depended on before the enactment, as Dependencies has it; empty where that was not observed.
	Depends string `json:"depends,omitempty"`
	// Evidence explains a failure.
	Evidence *Evidence `json:"evidence,omitempty"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended"`
}

// ReadOutcome loads how the latest enactment of the policy ended; false where there was none.
func ReadOutcome(files host.Files, policy string) (o Outcome, found bool, err error) {
	err = operation.ReadJSON(files, outcomeFile(policy), &o)
	if errors.Is(err, fs.ErrNotExist) {
		return o, false, nil
	}
	return o, err == nil, err
}

// ForgetOutcome removes it.
func ForgetOutcome(files host.Files, policy string) error {
	if err := files.Remove(outcomeFile(policy)); err != nil {
		return fmt.Errorf("remove the outcome of policy %s: %w", policy, err)
	}
	return nil
}

func writeOutcome(files host.Files, o Outcome) error {
	o.Version = 1
	return operation.WriteJSON(files, outcomeFile(o.Policy), o)
}

func outcomeFile(policy string) string { return path.Join(outcomeDir, path.Base(policy)+".json") }

// reportedOperations are the latest enactments of all policies: their records stay.
func reportedOperations(files host.Files) (ids []string) {
	names, err := files.List(outcomeDir)
	if err != nil {
		return nil
	}
	for _, name := range names {
		if o, found, err := ReadOutcome(files, strings.TrimSuffix(name, ".json")); err == nil && found {
			ids = append(ids, o.Operation)
		}
	}
	return ids
}
