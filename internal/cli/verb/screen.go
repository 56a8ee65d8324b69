package verb

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
)

// Control sequences that every console since the VT100 knows.
const (
	clearScreen = "\x1b[2J"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// screen redraws the status in place, for the person on the console.
type screen struct {
	out   io.Writer
	size  func() (width, height int)
	begun bool
}

func (c *screen) redraw(r Report, now time.Time) error {
	width, height := c.size()
	var b strings.Builder
	if !c.begun {
		b.WriteString(clearScreen)
		c.begun = true
	}
	b.WriteString(home)
	for _, line := range drawLines(r.Core(), now, max(height-1, 1)) {
		b.WriteString(clipLine(stripControls(line), width) + clearLine + "\n")
	}
	b.WriteString(clearBelow)
	_, err := io.WriteString(c.out, b.String())
	return err
}

// drawLines is the status in at most height lines. Where they are too few, the oldest steps are left out.
func drawLines(s *Status, now time.Time, height int) []string {
	lines := headerLines(s, now)
	var steps []string
	for _, t := range s.Steps {
		took := formatDuration(toDuration(t.Seconds))
		steps = append(steps, fmt.Sprintf("%s  %-10s %8s  %s", t.Ended.Format(time.TimeOnly), t.Flow, took, t.describeOutcome()))
	}
	if c := s.Current; c != nil {
		steps = append(steps, fmt.Sprintf("%s  %-10s %8s  %s ...", now.Format(time.TimeOnly), c.Flow,
			formatDuration(now.Sub(c.Started)), c))
	}
	room := max(height-len(lines), 1)
	return append(lines, steps[max(len(steps)-room, 0):]...)
}

// headerLines is what stays at the top.
func headerLines(s *Status, now time.Time) []string {
	var lines []string
	add := func(name, text string) {
		if text != "" {
			lines = append(lines, fmt.Sprintf("%-12s %s", name, text))
		}
	}
	add("Operation", s.Operation)
	add("Where", s.Where)
	if c := s.Current; c != nil {
		add("Step", fmt.Sprintf("%s %d of %d: %s, for %s", drawBar(c.Index, c.Total), c.Index, c.Total, c.Title,
			formatDuration(now.Sub(c.Started))))
	}
	for _, f := range s.Target {
		add(f.Label, f.Text)
	}
	stateroots := s.Booted
	if s.Default != s.Booted {
		stateroots += ", and " + s.Default + " boots next"
	}
	add("Stateroot", stateroots)
	if d := s.Deadline; d != nil && s.Current != nil {
		add("Watchdog", fmt.Sprintf("rolls back at %s, in %s", d.Format(time.TimeOnly), formatDuration(d.Sub(now))))
	}
	add("Holds node", s.Holder)
	add("Failure", s.Failure)
	for _, f := range s.Outcome {
		add(f.Label, f.Text)
	}
	add("Evidence", strings.Join(s.Evidence, ", "))
	return append(lines, "")
}

// barWidth is how many characters the bar is long.
const barWidth = 20

func drawBar(n, of int) string {
	done := 0
	if of > 0 {
		done = min(max(n-1, 0)*barWidth/of, barWidth)
	}
	return "[" + strings.Repeat("#", done) + strings.Repeat("-", barWidth-done) + "]"
}

func toDuration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// formatDuration is a duration for a person: tenths of a second below ten seconds, else whole seconds.
func formatDuration(d time.Duration) string {
	if d < 0 {
		return "0s"
	}
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// stripControls keeps text on one line and removes control characters, which a terminal would obey.
func stripControls(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, oneLine(text))
}

func clipLine(line string, width int) string {
	if r := []rune(line); width > 0 && len(r) > width {
		return string(r[:width])
	}
	return line
}
