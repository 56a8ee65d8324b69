package image

import (
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
		name, mark := escapeName.Replace(n), ""
		if name != n {
			mark = escaped
		}
		fmt.Fprintf(&b, "%s%s  %s\n", mark, s.files[n], name)
	}
	return b.Bytes()
}

// As sha256sum has it, a line whose name is escaped begins with a backslash.
const escaped = `\`

var (
	escapeName   = strings.NewReplacer("\\", `\\`, "\n", `\n`, "\r", `\r`)
	unescapeName = strings.NewReplacer(`\\`, "\\", `\n`, "\n", `\r`, "\r")
)

// ParseSums reads a list. A name may end with any byte but that of the line. Lists of early releases escape names without the mark.
func ParseSums(text []byte) (map[string]string, error) {
	out := map[string]string{}
	for line := range bytes.Lines(text) {
		line := strings.TrimSuffix(string(line), "\n")
		sum, name, ok := strings.Cut(strings.TrimPrefix(line, escaped), "  ")
		if !ok || len(sum) != 64 {
			return nil, fmt.Errorf("%s: the line %.300q is no checksum", Sums, line)
		}
		out[unescapeName.Replace(name)] = sum
	}
	return out, nil
}
