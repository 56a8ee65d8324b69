package image

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// SumList collects the checksums of files, as sha256sum writes them.
type SumList struct {
	mu    sync.Mutex
	files map[string]string
}

// Add notes one file; a later sum of the same file replaces the former.
func (s *SumList) Add(name string, sum [32]byte) { s.AddHex(name, hex.EncodeToString(sum[:])) }

// AddHex is Add for a sum in hexadecimal.
func (s *SumList) AddHex(name, sum string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string]string{}
	}
	s.files[name] = sum
}

// Text is the list, in order of names.
func (s *SumList) Text() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.files))
	for n := range s.files {
		names = append(names, n)
	}
	slices.Sort(names)
	var b bytes.Buffer
	for _, n := range names {
		fmt.Fprintf(&b, "%s  %s\n", s.files[n], escaped(n))
	}
	return b.Bytes()
}

// escaped keeps a name on its line.
func escaped(name string) string {
	return strings.NewReplacer("\\", "\\\\", "\n", "\\n").Replace(name)
}

// ParseSums reads a list.
func ParseSums(text []byte) (map[string]string, error) {
	out := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok || len(sum) != 64 {
			return nil, fmt.Errorf("%s: the line %q is no checksum", Sums, lines.Text())
		}
		out[strings.NewReplacer("\\\\", "\\", "\\n", "\n").Replace(name)] = sum
	}
	return out, lines.Err()
}
