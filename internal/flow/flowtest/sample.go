package flowtest

import (
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// What chooses the points that are played: MatrixVar=all plays every point, SeedVar says where a sample begins.
const (
	MatrixVar = "LCA_MATRIX"
	SeedVar   = "LCA_MATRIX_SEED"
)

// One point in so many is played: of each step of a plan, and of each row of moments. A short run plays a part of the steps.
const (
	inCI         = 4
	inShort      = 32
	stepsInShort = 4
)

// Sample says which points of a matrix are played. The same sample chooses the same points.
type Sample struct {
	// Seed chooses where each row of points begins.
	Seed uint64
	// Every says that one point in so many is played; 1 plays all of them.
	Every int
	// Steps says that one step in so many is met; 0 and 1 meet all of them.
	Steps int
}

// ReadSample takes the sample from the environment, and a seed by chance where none is given. The test's log has both.
func ReadSample(t *testing.T) Sample {
	t.Helper()
	s, err := sampleOf(os.Getenv(MatrixVar), os.Getenv(SeedVar), testing.Short())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("of the points where a crash comes, %s", s)
	return s
}

func sampleOf(matrix, seed string, short bool) (Sample, error) {
	s := Sample{Seed: uint64(rand.Uint32()), Every: inCI}
	switch {
	case matrix == "all":
		s.Every = 1
	case matrix != "":
		return s, fmt.Errorf("%s=%q: it is all, or it is not set", MatrixVar, matrix)
	case short:
		s.Every, s.Steps = inShort, stepsInShort
	}
	if seed == "" {
		return s, nil
	}
	var err error
	if s.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
		return s, fmt.Errorf("%s: %w", SeedVar, err)
	}
	return s, nil
}

func (s Sample) String() string {
	if s.Every == 1 {
		return "all"
	}
	steps := ""
	if s.Steps > 1 {
		steps = fmt.Sprintf(" of 1 step in %d", s.Steps)
	}
	return fmt.Sprintf("1 in %d%s (%s=%d, %s=all for all of them)", s.Every, steps, SeedVar, s.Seed, MatrixVar)
}

// firstPoint is the first point of a row that is played, counted from 0. Rows begin at different points.
func (s Sample) firstPoint(row string) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(row)) // a hash takes everything
	return rand.New(rand.NewPCG(s.Seed, h.Sum64())).IntN(s.Every)
}

// Of chooses from a row of n points, counted from 0: one at least.
func (s Sample) Of(row string, n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if n < 1 {
			return
		}
		for at := s.firstPoint(row) % n; at < n; at += s.Every {
			if !yield(at) {
				return
			}
		}
	}
}

// Points plays the chosen ones of n points, counted from 0, side by side, each in a subtest of its own. Play makes a
// world for itself and changes nothing that it shares with another point. Points returns when all of them have ended.
func Points(t *testing.T, n int, play func(t *testing.T, point int)) {
	t.Helper()
	if n < 1 {
		t.Fatal("there is no point to crash at")
	}
	s := ReadSample(t)
	t.Run("at", func(t *testing.T) {
		for at := range s.Of(t.Name(), n) {
			t.Run(strconv.Itoa(at), func(t *testing.T) {
				t.Parallel()
				play(t, at)
			})
		}
	})
}
