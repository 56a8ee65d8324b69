package bench

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
)

// Reconcile is one line of "go test -bench -benchmem".
type Reconcile struct {
	Name        string  `json:"name"`
	NsPerOp     float64 `json:"nsPerOp"`
	BytesPerOp  int64   `json:"bytesPerOp"`
	AllocsPerOp int64   `json:"allocsPerOp"`
}

// benchmarkLine is the format that package testing prints; other metrics may stand in between.
var benchmarkLine = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([\d.e+]+) ns/op.*?\s(\d+) B/op\s+(\d+) allocs/op`)

// ParseReconcile reads the output of go test and returns its benchmarks that measured memory.
func ParseReconcile(r io.Reader) ([]Reconcile, error) {
	var out []Reconcile
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		m := benchmarkLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		ns, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, fmt.Errorf("benchmark %s: %w", m[1], err)
		}
		b, err := strconv.ParseInt(m[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("benchmark %s: %w", m[1], err)
		}
		allocs, err := strconv.ParseInt(m[4], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("benchmark %s: %w", m[1], err)
		}
		out = append(out, Reconcile{Name: m[1], NsPerOp: ns, BytesPerOp: b, AllocsPerOp: allocs})
	}
	return out, lines.Err()
}
