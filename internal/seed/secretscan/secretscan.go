package secretscan

import (
	"bufio"
	"io"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Scan examines one copy.
type Scan struct {
	// Rulings are the user's decisions, Seen what the seed itself has of what recert renews.
	Rulings []Ruling
	Seen    *Seen
	Report  Report

	scanner *scanner
}

// New begins a scan.
func New(rulings []Ruling, seen *Seen) *Scan {
	s := &Scan{Rulings: rulings, Seen: seen, scanner: newScanner()}
	for _, n := range notExamined {
		s.Report.NotExamined = append(s.Report.NotExamined, Unexamined{n.what, n.why})
	}
	return s
}

// NoteObject notes what an object of the seed has of what recert renews.
func (s *Scan) NoteObject(kv host.KeyValue) {
	v := &objectVisit{Scan: &Scan{Seen: nil, scanner: s.scanner}, ref: ReferenceOf(kv.Key), names: map[string]string{}}
	v.secret = strings.HasPrefix(v.ref, "secrets/")
	v.noting = s.Seen
	if _, err := v.editObject(kv); err != nil {
		s.noteIn(s.Seen, string(kv.Value))
	}
}

// NoteFile does the same for a file.
func (s *Scan) NoteFile(content []byte) { s.noteIn(s.Seen, string(content)) }

// FileAction is what becomes of a file.
type FileAction int

// Actions.
const (
	LeaveFile FileAction = iota
	RewriteFile
	RemoveFile
)

// Bounds of files: up to EditLimit one is read whole; of a larger one windows are read, until WindowLimit.
const (
	EditLimit   = 4 << 20
	WindowLimit = 256 << 20
	window      = 1 << 20
	overlap     = 16 << 10
)

// Placed examines the path of a file: it may be a secret by its place.
func (s *Scan) Placed(file string) FileAction {
	because, ok := secretByPlace(file)
	if !ok {
		return LeaveFile
	}
	h := hit{rule: s.scanner.whole[rulePath]}
	decision, reason := s.decideHit(h, Place{Path: file})
	if decision == Removed && reason == h.rule.What {
		reason = because
	}
	s.noteHit(h.rule, Place{Path: file}, decision, reason)
	if decision == Removed {
		return RemoveFile
	}
	return LeaveFile
}

// File examines the content of a file. One that is replaced as a whole is to be removed; the content that it gets otherwise is also
// that of a file that cannot be removed, because a MachineConfig wrote it.
func (s *Scan) File(file string, content []byte) ([]byte, FileAction) {
	if s.passesProgram(file, content) {
		return content, LeaveFile
	}
	s.Report.Files++
	pl := Place{Path: file}
	text := string(content)
	out, unread := s.scanner.editContent(text, goesByWords(file, text), func(h hit) bool {
		return s.inFile(h, pl)
	})
	s.noteUnread(pl, unread)
	switch out {
	case text:
		return content, LeaveFile
	case Placeholder:
		return []byte(out), RemoveFile
	}
	return []byte(out), RewriteFile
}

// inFile decides about a find in a file. One that is within a program's own data cannot be cut out, and without its data the program
// may not work: only the user can decide that.
func (s *Scan) inFile(h hit, pl Place) (remove bool) {
	decision, reason := s.decideHit(h, pl)
	if h.inside && decision == Removed && !s.isRuled(pl) {
		decision, reason = Refused, h.rule.What+", in a file that cannot be edited"
	}
	s.noteHit(h.rule, pl, decision, reason)
	return decision == Removed
}

// LargeFile examines a file that is too large to be edited, window by window.
func (s *Scan) LargeFile(file string, from io.Reader) (FileAction, error) {
	in := bufio.NewReader(from)
	if begin, err := in.Peek(len(programMagic)); err == nil && s.passesProgram(file, begin) {
		return LeaveFile, nil
	}
	s.Report.Files++
	pl, action, total := Place{Path: file}, LeaveFile, 0
	buffer := make([]byte, 0, window+overlap)
	for {
		n, err := io.ReadFull(in, buffer[len(buffer):window+overlap])
		buffer = buffer[:len(buffer)+n]
		if s.examineWindow(pl, string(buffer)) {
			action = RemoveFile
		}
		total += n
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return action, nil
		case err != nil:
			return action, err
		case total >= WindowLimit:
			s.Report.NotExamined = append(s.Report.NotExamined, Unexamined{
				file, "is larger than is read of one file; its beginning was examined",
			})
			return action, nil
		}
		buffer = append(buffer[:0], buffer[len(buffer)-overlap:]...)
	}
}

// programMagic begins every program and library in ELF.
const programMagic = "\x7fELF"

// passesProgram passes over what was compiled and says so in the report: the texts within are the same on every machine that has the
// program, and many name or imitate secrets, as this one's rules do.
func (s *Scan) passesProgram(file string, begin []byte) bool {
	if !strings.HasPrefix(string(begin[:min(len(begin), len(programMagic))]), programMagic) {
		return false
	}
	s.Report.NotExamined = append(s.Report.NotExamined, Unexamined{file, "is a compiled program"})
	return true
}

// examineWindow examines a part of a large file by the rules that need no context.
func (s *Scan) examineWindow(pl Place, part string) (remove bool) {
	p := pass{scanner: s.scanner, judge: func(h hit) bool {
		h.inside = true
		remove = s.inFile(h, pl) || remove
		return false
	}}
	p.applyRules(part)
	return remove
}
