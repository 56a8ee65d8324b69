package secretscan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Found is one place where a rule found something. It has no part of the value.
type Found struct {
	Rule string `json:"rule"`
	// Object and Key, or Path.
	Object string `json:"object,omitempty"`
	Key    string `json:"key,omitempty"`
	Path   string `json:"path,omitempty"`
	// Decision is what became of it, and Reason why.
	Decision Decision `json:"decision"`
	Reason   string   `json:"reason"`
}

// Where is the place in words.
func (f Found) Where() string {
	switch {
	case f.Path != "":
		return f.Path
	case f.Key != "":
		return f.Object + " key " + f.Key
	}
	return f.Object
}

// Unexamined is a place that was not examined, or not to the end.
type Unexamined struct {
	Where string `json:"where"`
	Why   string `json:"why"`
}

// Version is that of the report's format.
const Version = 1

// Report says what was found in an image, and what became of it.
type Report struct {
	Version int `json:"version"`
	// Objects and Files are how many were examined.
	Objects int `json:"objects"`
	Files   int `json:"files"`
	// Counts are how many finds each decision has.
	Counts      map[Decision]int `json:"counts"`
	Found       []Found          `json:"found"`
	NotExamined []Unexamined     `json:"not-examined"`
}

// rankOf orders decisions by what a reader has to see first.
func rankOf(d Decision) int {
	return slices.Index([]Decision{Refused, Allowed, Removed, Kept, Renewed}, d)
}

// Finish sorts the report, drops repetitions, and counts.
func (r *Report) Finish() {
	slices.SortFunc(r.Found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(rankOf(a.Decision), rankOf(b.Decision)), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Key, b.Key),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Reason, b.Reason))
	})
	r.Found = slices.Compact(r.Found)
	slices.SortFunc(r.NotExamined, func(a, b Unexamined) int {
		return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.Why, b.Why))
	})
	r.NotExamined = slices.Compact(r.NotExamined)
	r.Version, r.Counts = Version, map[Decision]int{}
	for _, f := range r.Found {
		r.Counts[f.Decision]++
	}
}

// Refused are the finds that the image is not published with.
func (r *Report) Refused() (out []Found) {
	for _, f := range r.Found {
		if f.Decision == Refused {
			out = append(out, f)
		}
	}
	return out
}

// Summary counts in words.
func (r *Report) Summary() string {
	return fmt.Sprintf("%d removed, %d renewed, %d kept, %d allowed, %d refused; %d objects and %d files were examined", r.Counts[Removed],
		r.Counts[Renewed], r.Counts[Kept], r.Counts[Allowed], r.Counts[Refused], r.Objects, r.Files)
}

// namedInRefusal is how many places a refusal names.
const namedInRefusal = 5

// Refusal says why the image is not published and what to do; empty where nothing is refused.
func (r *Report) Refusal() string {
	all := r.Refused()
	if len(all) == 0 {
		return ""
	}
	var places []string
	for _, f := range all[:min(len(all), namedInRefusal)] {
		places = append(places, fmt.Sprintf("%s (%s)", f.Where(), f.Rule))
	}
	if n := len(all) - namedInRefusal; n > 0 {
		places = append(places, fmt.Sprintf("and %d more", n))
	}
	noun := "places hold"
	if len(all) == 1 {
		noun = "place holds"
	}
	return fmt.Sprintf("%d %s what may be a live secret of this cluster: %s; decide about each in spec.secretDecisions "+
		"(Keep or Remove, with a reason), or delete it", len(all), noun, strings.Join(places, ", "))
}

// noteHit adds a find.
func (s *Scan) noteHit(rule *Rule, p Place, d Decision, reason string) {
	s.Report.Found = append(s.Report.Found, Found{Rule: rule.Name, Object: p.Object, Key: s.redactKey(p.Key), Path: p.Path,
		Decision: d, Reason: reason})
}

func (s *Scan) noteUnread(p Place, why string) {
	if why != "" {
		where := Found{Object: p.Object, Key: s.redactKey(p.Key), Path: p.Path}.Where()
		s.Report.NotExamined = append(s.Report.NotExamined, Unexamined{where, "something in it " + why})
	}
}

// redactKey is a key without secrets: one may be part of it.
func (s *Scan) redactKey(key string) string {
	if len(key) < 12 {
		return key
	}
	out, _ := s.scanner.editContent(key, false, func(hit) bool { return true })
	return out
}
