package trees

import "log/slog"

// Options configure a Trees.
type Options struct {
	// Root is the host's root as this process sees it; empty is "/".
	Root string
	// Workers is how many files are copied at once; 0 takes a number that suits.
	Workers int
	// Log gets a line for what was tolerated; nil drops it.
	Log *slog.Logger
}

// Trees implements host.Trees.
type Trees struct{ o Options }

// New returns a Trees beneath the root.
func New(o Options) *Trees { return &Trees{o: o} }
