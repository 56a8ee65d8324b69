//go:build nmstate

package nmstate

import (
	"errors"
	"fmt"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/policy"
	"github.com/lifecycle-agent/lifecycle-agent/test/interop/sources"
)

const (
	fixturesPage = "../../docs/nmstate-fixtures.md"
	unitTests    = "rust/src/lib/unit_tests"
	examples     = "examples"
)

// The documents of upstream's own tests mean here what they mean there: what is different, what undoes, what a policy makes
// of a node, and which documents are taken. A row that passes less often than docs/nmstate-fixtures.md says fails.
func TestFixtures(t *testing.T) {
	src, operator := sources.Open(t, upstream), sources.Open(t, "nmstate/kubernetes-nmstate")
	f := &fixtures{t: t, src: src, c: newClassifier(t)}
	rows := []*fixtureRow{
		f.compared("gen_diff", unitTests+"/gen_diff_test_files", "diff.yml", differences),
		f.compared("gen_revert", unitTests+"/gen_revert_test_files", "revert.yml", undoing),
		f.compared("policy", examples+"/policy", "expected.yml", resolving),
		f.taken("examples", src, documentsBelow(src, examples)),
		f.units(),
		f.taken("kubernetes-nmstate's docs/examples", operator, documentsBelow(operator, "docs/examples")),
	}
	before := readFixturesPage(t)
	for _, r := range rows {
		t.Logf("%s:\n%s", r.Name, strings.Join(r.Failures, "\n"))
		if r.Passed < before[r.Name] {
			t.Errorf("%s: %d pass, %d did when %s was written", r.Name, r.Passed, before[r.Name], fixturesPage)
		}
	}
	writeFixtures(t, src, operator, rows)
}

type fixtures struct {
	t   *testing.T
	src sources.Source
	c   classifier
}

// fixtureRow is a line of the page.
type fixtureRow struct {
	Name                                    string
	Met, Passed, ByEffect, Failed, Declared int
	Failures                                []string
}

func (r *fixtureRow) fail(name string, why any) {
	r.Failed++
	r.Failures = append(r.Failures, fmt.Sprintf("%s: %v", name, why))
}

// refuse counts a document that is not taken: as declared where it is for a key of the schema's table alone.
func (f *fixtures) refuse(r *fixtureRow, name, document string, err error) {
	_, known := f.c.exceptions[r.Name+": "+name]
	if known || f.c.refusedKey(call{Document: document}) != "" || strings.Contains(document, "sriov:") { // a name that needs ethernet.sr-iov
		r.Declared++
		return
	}
	r.fail(name, err)
}

// pair is a fixture: what is wanted of which state, and the state to which an answer is applied.
type pair struct {
	current, after netstate.Document
	got            netstate.Document
}

// compared runs fixtures that are folders with a current state, an order and the answer. Two answers that lead to the same
// state have the same effect.
func (f *fixtures) compared(name, folder, answer string, work func(order, current []byte) (pair, error)) *fixtureRow {
	r := &fixtureRow{Name: name}
	for _, file := range f.src.List(folder, answer) {
		r.Met++
		dir := path.Dir(file)
		order := f.src.Read(dir + "/" + orderOf(answer))
		p, err := work(order, f.src.Read(dir+"/current.yml"))
		if err != nil {
			f.refuse(r, path.Base(dir), string(order), err)
			continue
		}
		want, err := netstate.Decode(f.src.Read(file))
		switch {
		case err != nil:
			r.fail(path.Base(dir), err)
		case reflect.DeepEqual(p.got.Canonical(), want.Canonical()):
			r.Passed++
		case reflect.DeepEqual(netstate.Merge(p.after, p.got).Canonical(), netstate.Merge(p.after, want).Canonical()):
			r.Passed++
			r.ByEffect++
		default:
			text, _ := p.got.Encode()
			r.fail(path.Base(dir), "another answer: "+string(text))
		}
	}
	return r
}

func orderOf(answer string) string {
	if answer == "expected.yml" {
		return "policy.yml"
	}
	return "desired.yml"
}

func decodePair(order, current []byte) (want, now netstate.Document, err error) {
	if now, err = netstate.Decode(current); err != nil {
		return want, now, err
	}
	if want, err = netstate.Decode(order); err == nil {
		err = netstate.Validate(want)
	}
	return want, now, err
}

func differences(order, current []byte) (pair, error) {
	want, now, err := decodePair(order, current)
	return pair{current: now, after: now, got: netstate.Diff(now, want)}, err
}

func undoing(order, current []byte) (pair, error) {
	want, now, err := decodePair(order, current)
	return pair{current: now, after: netstate.Merge(now, want), got: netstate.Revert(want, now)}, err
}

func resolving(order, current []byte) (pair, error) {
	p, err := policy.Read(order)
	if err != nil {
		return pair{}, err
	}
	now, err := netstate.Decode(current)
	if err != nil {
		return pair{}, err
	}
	r, err := policy.Resolve(p, now, nil)
	return pair{current: now, after: now, got: r.Desired}, err
}

// documentsBelow are the YAML files of a folder, without those of its own folders.
func documentsBelow(src sources.Source, folder string) []string {
	all := append(src.List(folder, "*.y*ml"), []string{}...)
	return slices.DeleteFunc(all, func(name string) bool { return path.Dir(name) != folder })
}

// taken runs documents and policies that validation has to accept.
func (f *fixtures) taken(name string, src sources.Source, files []string) *fixtureRow {
	r := &fixtureRow{Name: name}
	for _, file := range files {
		r.Met++
		text := src.Read(file)
		document, err := desiredOf(text)
		if err == nil {
			err = checkDocument(document)
		}
		if err != nil {
			f.refuse(r, file, string(document), err)
			continue
		}
		r.Passed++
	}
	return r
}

// desiredOf is the document of a policy of Kubernetes, and any other text as it is.
func desiredOf(text []byte) ([]byte, error) {
	var object struct {
		Kind string
		Spec map[string]any
	}
	if err := yaml.Unmarshal(text, &object); err != nil || object.Kind == "" {
		return text, nil // it is a document, which says what is wrong with it
	}
	if object.Spec["capture"] != nil { // its templates are no document before they are resolved
		p, err := policy.Read(text)
		if err == nil {
			err = policy.Check(p)
		}
		return []byte("{}"), err
	}
	return yaml.Marshal(object.Spec["desiredState"])
}

func checkDocument(text []byte) error {
	d, err := netstate.Decode(text)
	if err == nil {
		err = netstate.Validate(d)
	}
	return err
}

var (
	rustTest = regexp.MustCompile(`(?m)^(?:pub\(crate\) )?fn (\w+)\(`)
	rustText = regexp.MustCompile(`(?s)r#?"(.*?)"#?[,\s)]`)
	wantsErr = regexp.MustCompile(`is_err\(\)|unwrap_err|ErrorKind::|Err\(`)
)

// units runs the documents within upstream's Rust tests. One that a test expects an error of may be refused or taken.
func (f *fixtures) units() *fixtureRow {
	r := &fixtureRow{Name: "documents of unit tests"}
	for _, file := range f.src.List(unitTests, "*.rs") {
		code := string(f.src.Read(file))
		starts := append(rustTest.FindAllStringSubmatchIndex(code, -1), []int{len(code), len(code), 0, 0})
		for k := range len(starts) - 1 {
			body := code[starts[k][0]:starts[k+1][0]]
			for _, m := range rustText.FindAllStringSubmatch(body, -1) {
				f.unit(r, path.Base(file)+" "+code[starts[k][2]:starts[k][3]], m[1], wantsErr.MatchString(body))
			}
		}
	}
	return r
}

// unit judges one text; it is left out where it is no document, nor a list of interfaces or one of them.
func (f *fixtures) unit(r *fixtureRow, name, text string, mayFail bool) {
	document, ok := asDocument(text)
	if !ok {
		return
	}
	r.Met++
	err := checkDocument(document)
	if err == nil || mayFail && f.c.refusedKey(call{Document: string(document)}) == "" {
		r.Passed++
		return
	}
	f.refuse(r, name, string(document), err)
}

func asDocument(text string) ([]byte, bool) {
	var anything any
	if yaml.Unmarshal([]byte(text), &anything) != nil {
		return nil, false
	}
	var whole map[string]any
	switch v := anything.(type) {
	case []any:
		whole = map[string]any{"interfaces": v}
		if one, ok := v[0].(map[string]any); !ok || one["name"] == nil {
			return nil, false
		}
	case map[string]any:
		whole = v
		if v["name"] != nil && (v["type"] != nil || v["state"] != nil) {
			whole = map[string]any{"interfaces": []any{v}}
		} else if v["interfaces"] == nil && v["routes"] == nil && v["dns-resolver"] == nil && v["route-rules"] == nil || v["capture"] != nil {
			return nil, false
		}
	default:
		return nil, false
	}
	out, err := yaml.Marshal(whole)
	return out, err == nil
}

const fixturesHead = `<!-- Generated by "make test-nmstate-fixtures"; do not edit. -->
# nmstate's fixtures

The documents of the tests and examples of nmstate %s (commit %s of %s), and the examples of
kubernetes-nmstate (commit %s of %s), by the code of ` + "`kubectl lca network`" + `. "By effect": the
answer is another document that leads to the same state. "Declared" documents have a key that
[nmstate-schema.md](nmstate-schema.md) says is not supported, and are refused with its path, or are no documents for a
node.

| fixtures | met | passed | of these by effect | failed | declared |
| --- | --- | --- | --- | --- | --- |
`

// pageWidth is where a line of a page is cut.
const pageWidth = 118

func writeFixtures(t *testing.T, src, operator sources.Source, rows []*fixtureRow) {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, fixturesHead, version(src), src.Commit[:8], src.Date(), operator.Commit[:8], operator.Date())
	for _, r := range rows {
		fmt.Fprintf(&out, "| %s | %d | %d | %d | %d | %d |\n", r.Name, r.Met, r.Passed, r.ByEffect, r.Failed, r.Declared)
	}
	out.WriteString("\n## Failed\n\n")
	for _, r := range rows {
		for _, why := range r.Failures {
			line, _, _ := strings.Cut("- "+r.Name+": "+why, "\n")
			fmt.Fprintln(&out, line[:min(len(line), pageWidth)])
		}
	}
	require.NoError(t, os.WriteFile(fixturesPage, []byte(out.String()), 0o644))
}

var fixturesLine = regexp.MustCompile(`(?m)^\| ([^|]+) \| \d+ \| (\d+) \| \d+ \|`)

func readFixturesPage(t *testing.T) map[string]int {
	t.Helper()
	data, err := os.ReadFile(fixturesPage)
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	return leastOf(t, fixturesLine, string(data))
}
