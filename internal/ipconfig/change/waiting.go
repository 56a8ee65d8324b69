package change

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

const (
	// waitingInterval lies between two records of what one step waits for: a try takes less than a second.
	waitingInterval = 20 * time.Second
	// maxMissing bounds a record in bytes.
	maxMissing = 600
)

// reporting has the step record what it waits for. A record that cannot be written costs nothing but the explanation.
func (p *PostPivot) reporting(s flow.Step) flow.Step {
	do := s.Do
	s.Do = func(ctx context.Context) error {
		var last ipconfig.Waiting
		return do(bringup.WithReporter(ctx, func(missing string) {
			now := p.Clock.Now().UTC()
			missing = shortenLine(operation.RedactText(missing))
			if missing == last.Missing || now.Sub(last.Since).Abs() < waitingInterval {
				return
			}
			last = ipconfig.Waiting{OperationID: p.Request.OperationID, Step: s.Name, Missing: missing, Since: now}
			if err := ipconfig.WriteWaiting(p.Files, p.Request.OldStateroot, last); err != nil {
				p.Log.Warn("what the step waits for could not be recorded", "step", s.Name, "error", err)
			}
		}))
	}
	return s
}

// shortenLine makes one line of a text, of which the beginning says most.
func shortenLine(text string) string {
	text = strings.ReplaceAll(text, "\n", "; ")
	if len(text) > maxMissing {
		text = strings.ToValidUTF8(text[:maxMissing], "") + "..."
	}
	return text
}

// unfinishedStep says which step of post-pivot was not done, and what it waited for; empty where all were.
func unfinishedStep(files host.Files, id string) string {
	progress, err := ipconfig.ReadProgress(files, id)
	post := progress.PostPivot
	if err != nil || post.Finished || post.Step == "" {
		return ""
	}
	said := fmt.Sprintf("; step %d of %d (%s) was not done", post.Index, post.Total, post.Step)
	if w, found, err := ipconfig.ReadWaiting(files, id); err == nil && found && w.Step == post.Step {
		return said + " and waited for: " + w.Missing
	}
	if post.Failure != "" {
		return said + ": " + shortenLine(post.Failure)
	}
	return said
}
