package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
)

func TestSharesAddUp(t *testing.T) {
	for _, gb := range []float64{0.2, 1, 4} {
		big, folders := shares(gb)
		require.InDelta(t, gb*1e9, float64(big)*megabyte+float64(folders)*folder, megabyte, "%g GB", gb)
		require.InDelta(t, gb*1e9/2, float64(big)*megabyte, folder, "half of %g GB is one file", gb)
	}
}

func TestParseReconcile(t *testing.T) {
	got, err := ParseReconcile(strings.NewReader(`goos: linux
BenchmarkReconcileAtRest-2   	     200	   9128340 ns/op	  412345 B/op	    4321 allocs/op
BenchmarkOther 	 10	 1.5e+06 ns/op	 3.00 requests/op	 100 B/op	 7 allocs/op
BenchmarkNoMemory-2   	     200	   9128340 ns/op
PASS
`))
	require.NoError(t, err)
	require.Equal(t, []Reconcile{
		{Name: "ReconcileAtRest", NsPerOp: 9128340, BytesPerOp: 412345, AllocsPerOp: 4321},
		{Name: "Other", NsPerOp: 1.5e6, BytesPerOp: 100, AllocsPerOp: 7},
	}, got)
}

func TestSpansFromTheJournal(t *testing.T) {
	asked := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	at := func(s float64) time.Time { return asked.Add(time.Duration(s * float64(time.Second))) }
	steps := []drive.Step{
		{Flow: prePivot, Step: "copy-while-running", Ended: at(5), Seconds: 4},
		{Flow: prePivot, Step: stopStep, Ended: at(7), Seconds: 1.5},
		{Flow: prePivot, Step: lastStep, Ended: at(8), Seconds: 0.5},
		{Flow: postPivot, Step: "recert", Ended: at(12), Seconds: 1},
	}
	var c Change
	require.NoError(t, c.fromJournal(asked, steps))
	require.InDelta(t, 1, c.ToBegin, 1e-6)
	require.InDelta(t, 8, c.ToReboot, 1e-6)
	require.InDelta(t, 2.5, c.DownToReboot, 1e-6)
	require.Equal(t, []Step{{Name: "copy-while-running", Seconds: 4}, {Name: stopStep, Seconds: 1.5, Down: true},
		{Name: lastStep, Seconds: 0.5, Down: true}}, c.Before)
	require.Equal(t, []Step{{Name: "recert", Seconds: 1}}, finishing(steps))
	require.Error(t, (&Change{}).fromJournal(asked, steps[3:]), "an account without a reboot")
}

func TestSpansFromTheScript(t *testing.T) {
	asked := time.Unix(1000, 0)
	var c Change
	require.NoError(t, c.fromLog(asked, "stop-cluster 1001.5 1003.0\ncopy-var 1003.0 1011.25\n"))
	require.InDelta(t, 11.25, c.ToReboot, 1e-6)
	require.InDelta(t, 9.75, c.DownToReboot, 1e-6)
	require.Equal(t, []Step{{Name: "stop-cluster", Seconds: 1.5, Down: true}, {Name: "copy-var", Seconds: 8.25, Down: true}}, c.Before)
	require.Error(t, (&Change{}).fromLog(asked, ""))
	require.Error(t, (&Change{}).fromLog(asked, "copy-var 1003.0\n"))
}

func TestTableHasAColumnForEachSize(t *testing.T) {
	r := Report{Command: "lab bench", Reconcile: []Reconcile{{Name: "ReconcileAtRest", NsPerOp: 2.5e6, BytesPerOp: 4096, AllocsPerOp: 10}},
		Nodes: []Node{
			{Machine: "nspawn", SizeGB: 0, BareReboot: 4, Ours: Change{Outage: 6, DownToReboot: 1, Before: []Step{{Name: "seal", Seconds: 0.5, Down: true}}},
				Reference: Change{Outage: 12, DownToReboot: 7}},
			{Machine: "nspawn", SizeGB: 4, BareReboot: 4, Ours: Change{Outage: 8, DownToReboot: 2, Before: []Step{{Name: "seal", Seconds: 0.7, Down: true}}},
				Reference: Change{Outage: 40, DownToReboot: 30}},
		}}
	var out strings.Builder
	require.NoError(t, r.Print(&out))
	lines := map[string][]string{}
	for line := range strings.Lines(out.String()) {
		name, figures, _ := strings.Cut(strings.TrimSpace(line), "  ")
		lines[name] = append(lines[name], strings.Join(strings.Fields(figures), " "))
	}
	require.Equal(t, []string{"2.50 4 10"}, lines["ReconcileAtRest"])
	require.Equal(t, []string{"0.50 0.70"}, lines["seal *"])
	require.Equal(t, []string{"6.00 8.00", "12.00 40.00"}, lines["API away"])
	require.Equal(t, []string{"1.50 2.00", "3.00 10.00"}, lines["API away / bare reboot"])
	require.Equal(t, []string{"2.00 5.00"}, lines["reference / ours, API away"])
}
