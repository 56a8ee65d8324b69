package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Report is what a run leaves. All durations are seconds.
type Report struct {
	Command   string      `json:"command"`
	Host      Host        `json:"host"`
	Started   time.Time   `json:"started"`
	Seconds   float64     `json:"seconds"`
	Reconcile []Reconcile `json:"reconcile,omitempty"`
	Nodes     []Node      `json:"nodes"`
}

// Host is the machine that everything ran on.
type Host struct {
	CPUs      int    `json:"cpus"`
	Processor string `json:"processor"`
	MemoryMiB int64  `json:"memoryMiB"`
	Kernel    string `json:"kernel"`
}

// Node is what was measured on one fresh node.
type Node struct {
	Machine string  `json:"machine"`
	SizeGB  float64 `json:"sizeGB"`
	// Files and Bytes of /var as it was copied, extra data and all.
	Files      int64  `json:"files"`
	Bytes      int64  `json:"bytes"`
	FileSystem string `json:"fileSystem"`
	// Load is the host's one-minute load average: how much else was going on.
	LoadBefore string `json:"loadBefore"`
	LoadAfter  string `json:"loadAfter"`
	// OperatorRSS is the resident memory of the operator's process at rest, in KiB.
	OperatorRSS int64 `json:"operatorRSSKiB"`
	// BareReboot is how long the API was away for a reboot and nothing else.
	BareReboot float64 `json:"bareRebootOutage"`
	Ours       Change  `json:"ours"`
	// NewStateroot is the one that our change made.
	NewStateroot string `json:"newStateroot"`
	// RollbackOutage is how long the API was away for the way back.
	RollbackOutage float64 `json:"rollbackOutage"`
	Reference      Change  `json:"reference"`
}

// Change is one change of the node's address.
type Change struct {
	// Before are the steps up to the reboot, After those in the new stateroot.
	Before []Step `json:"before"`
	After  []Step `json:"after"`
	// ToBegin is from the request until the first step: the operator's part. 0 where there is no operator.
	ToBegin float64 `json:"requestToFirstStep,omitempty"`
	// ToReboot is from the request until the reboot was asked for, DownToReboot the part of it after the
	// cluster was told to stop; Completed is until the IPConfig said so.
	ToReboot     float64 `json:"requestToReboot"`
	DownToReboot float64 `json:"stopToReboot"`
	Completed    float64 `json:"requestToCompleted"`
	// Outage is the longest time that the API answered at neither address, seen from outside.
	Outage float64 `json:"apiOutage"`
}

// Step is one step of a change. Down says that the cluster had been stopped for it.
type Step struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Down    bool    `json:"down,omitempty"`
}

// of finds a step; the second value says whether it was there.
func of(steps []Step, name string) (Step, bool) {
	for _, s := range steps {
		if s.Name == name {
			return s, true
		}
	}
	return Step{}, false
}

func (r Report) save(file string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// thisHost reads proc(5); what cannot be had stays empty, it is for information only.
func thisHost() Host {
	h := Host{CPUs: runtime.NumCPU()}
	h.Kernel = strings.TrimSpace(text("/proc/sys/kernel/osrelease"))
	for line := range strings.Lines(text("/proc/cpuinfo")) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			h.Processor = strings.TrimSpace(value)
		}
	}
	for line := range strings.Lines(text("/proc/meminfo")) {
		var kib int64
		if _, err := fmt.Sscanf(line, "MemTotal: %d kB", &kib); err == nil {
			h.MemoryMiB = kib >> 10
		}
	}
	return h
}

func loadAverage() string {
	first, _, _ := strings.Cut(text("/proc/loadavg"), " ")
	return first
}

func text(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return string(data)
}
