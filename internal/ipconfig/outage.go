package ipconfig

import (
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// LastOutage is how long the cluster was down in the latest change on record that went through: the best guess at how
// long it will be in the next one. 0 where there is none.
func LastOutage(files host.Files) time.Duration {
	names, err := files.List(host.JournalDir)
	if err != nil {
		return 0
	}
	for _, name := range slices.Backward(names) { // they begin with the time
		operation, _, _ := strings.Cut(name, ".")
		entries, err := ReadEntries(files, operation)
		if err != nil {
			continue
		}
		if took := outage(entries); took > 0 {
			return took
		}
	}
	return 0
}

func outage(entries []flow.Entry) time.Duration {
	var down time.Time
	for _, e := range entries {
		switch {
		case e.Step == StepQuiesce && e.Kind == flow.KindIntent:
			down = e.Time
		case e.Step == StepWaitAPI && e.Kind == flow.KindDone && !down.IsZero():
			return e.Time.Sub(down)
		}
	}
	return 0
}
