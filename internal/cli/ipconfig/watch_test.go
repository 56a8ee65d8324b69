package ipconfig_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// played is a clock during whose pauses a story goes on; when it is told, the person leaves.
type played struct {
	now   time.Time
	story []func()
	leave context.CancelFunc
}

func (c *played) Now() time.Time { return c.now }

func (c *played) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	if len(c.story) == 0 {
		c.leave()
		return ctx.Err()
	}
	c.story[0]()
	c.story = c.story[1:]
	return ctx.Err()
}

// watching runs "status --watch" while three steps of post-pivot are journaled, and returns what was written.
func watching(t *testing.T, screen func() (int, int), args ...string) string {
	t.Helper()
	b := newByHand(t, "rhcos")
	ctx, leave := context.WithCancel(t.Context())
	clock := &played{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), leave: leave}
	seq := 0
	entry := func(kind flow.Kind, step string, n int, errText string) func() {
		return func() {
			seq++
			e := flow.Entry{Version: flow.SchemaVersion, Seq: seq, Time: clock.now, Operation: "op", Flow: ipconfig.FlowPostPivot, Kind: kind,
				Step: step, Title: "Do " + step, Index: n, Total: 3, TookMS: 1500, Error: errText}
			line, err := json.Marshal(e)
			require.NoError(t, err)
			require.NoError(t, b.node.Files().Append(operation.JournalPath("op"), append(line, '\n'), 0o600))
		}
	}
	nothing := func() {}
	clock.story = []func(){
		nothing, entry(flow.KindBegin, "", 0, ""), entry(flow.KindIntent, ipconfig.StepRecert, 1, ""), nothing, nothing,
		entry(flow.KindDone, ipconfig.StepRecert, 1, ""), entry(flow.KindIntent, ipconfig.StepWaitAPI, 2, ""),
		entry(flow.KindFailed, ipconfig.StepWaitAPI, 2, "no answer\n\x1b[2Jfrom the API"), nothing,
	}
	w := b.wiring()
	w.Screen, w.Clock = screen, clock
	cmd := cli.Command(w)
	cmd.SetArgs(append([]string{"status", "--watch"}, args...))
	require.NoError(t, cmd.ExecuteContext(ctx))
	return b.out.String()
}

func TestWatchWithoutATerminalSaysEachThingOnce(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(watching(t, nil)), "\n")
	require.Equal(t, []string{
		"03:04:05  op: finishing in the new stateroot",
		"03:04:08  [1/3] Do recert ...",
		"03:04:11  [1/3] Do recert: done in 1.5s",
		"03:04:12  [2/3] Do wait-for-api ...",
		"03:04:13  [2/3] Do wait-for-api: failed after 1.5s: no answer;  [2Jfrom the API",
	}, lines)
}

func TestWatchForProgramsIsOneDocumentForEachChange(t *testing.T) {
	var last cli.Status
	lines := strings.Split(strings.TrimSpace(watching(t, nil, "-o", "json")), "\n")
	require.Len(t, lines, 6, "as many as there were changes")
	require.NoError(t, json.Unmarshal([]byte(lines[2]), &last))
	require.Equal(t, "recert", last.Current.Step)
	require.Equal(t, []int{1, 3}, []int{last.Current.Index, last.Current.Total})
	last = cli.Status{}
	require.NoError(t, json.Unmarshal([]byte(lines[5]), &last))
	require.Nil(t, last.Current)
	require.Len(t, last.Steps, 2)
	require.Equal(t, "failed", last.Steps[1].Result)

	require.Equal(t, 6, strings.Count(watching(t, nil, "-o", "yaml"), "---\n"))
}

func TestWatchOnATerminalRedrawsInPlace(t *testing.T) {
	out := watching(t, func() (int, int) { return 70, 10 })
	require.Equal(t, 1, strings.Count(out, "\x1b[2J"), "cleared once, and no text gives the terminal orders")
	frames := strings.Split(out, "\x1b[H")[1:]
	require.Greater(t, len(frames), 8, "the time goes on in front of the person")
	require.Contains(t, frames[5], "Step         [--------------------] 1 of 3: Do recert, for 2.0s")
	require.Contains(t, frames[7], "03:04:11  post-pivot     1.5s  [1/3] Do recert: done")
	require.Contains(t, frames[7], "Step         [######--------------] 2 of 3: Do wait-for-api, for 0.0s")
	for _, frame := range frames {
		require.LessOrEqual(t, strings.Count(frame, "\n"), 9)
		for line := range strings.Lines(frame) {
			require.LessOrEqual(t, len(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\x1b[K")), 70, line)
		}
	}
}

func TestStatusNamesWhoHoldsTheNode(t *testing.T) {
	b := newByHand(t, "rhcos")
	release, err := b.node.Lock().Acquire(t.Context(), host.Holder{Operation: "firmware update", Program: "fwupd"})
	require.NoError(t, err)
	defer release()
	require.NoError(t, b.run("status"))
	require.Contains(t, b.out.String(), "firmware update (fwupd, pid ")
}
