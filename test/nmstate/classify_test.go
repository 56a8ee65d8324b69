//go:build nmstate

package nmstate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/schema"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// verdict is what became of a test.
type verdict string

const (
	passed verdict = "passed"
	failed verdict = "failed"
	// declared needs what docs/nmstate-schema.md or docs/network-cli.md says is not supported, and was refused for it.
	declared verdict = "declared"
	// cannotRun needs a kernel module or a program that is missing here.
	cannotRun verdict = "cannot run here"
)

// classifier judges by what was seen: the text of a refusal, the missing program. exceptions.txt holds the rest, by name.
type classifier struct {
	unsupported map[string]bool // paths and types that the schema's table does not support
	limited     map[string]bool // paths of which the table supports all values but some
	exceptions  map[string]exception
	filters     bool
}

type exception struct {
	verdict verdict
	why     string
}

func newClassifier(t *testing.T) classifier {
	c := classifier{unsupported: map[string]bool{}, limited: map[string]bool{}, exceptions: readExceptions(t), filters: kernelFilters(t)}
	for _, k := range schema.Keys() {
		c.unsupported[k.Path], c.limited[k.Path] = k.Support != keys.Full, strings.HasPrefix(k.Note, "all but ")
	}
	for _, k := range keys.Types() {
		c.unsupported[k.Name] = k.Support != keys.Full
	}
	return c
}

// readExceptions reads lines "TEST | VERDICT | REASON".
func readExceptions(t *testing.T) map[string]exception {
	t.Helper()
	data, err := os.ReadFile("exceptions.txt")
	require.NoError(t, err)
	out := map[string]exception{}
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.TrimSpace(line), " | ")
		if strings.HasPrefix(line, "#") || len(parts) != 3 {
			continue
		}
		out[parts[0]] = exception{verdict(parts[1]), parts[2]}
	}
	return out
}

// row is a module's line of the table.
type row struct {
	Name                              string
	Kernel                            string
	Manager                           string
	Met, Passed, Failed, Declared, No int
	Reasons                           map[verdict]map[string]int
	Failures                          []string
}

func (r row) String() string {
	return fmt.Sprintf("%s: met %d, passed %d, failed %d, declared %d, cannot run %d", r.Name, r.Met, r.Passed, r.Failed, r.Declared, r.No)
}

var managerVersion = regexp.MustCompile(`NetworkManager \(version ([^)]+)\)`)

// noReport is why a module that has not run counts as failed.
const noReport = "the module wrote no report"

// judge counts what a module's report says.
func (c classifier) judge(t *testing.T, module, report string) row {
	t.Helper()
	r := row{Name: strings.TrimSuffix(module, "_test.py"), Reasons: map[verdict]map[string]int{declared: {}, cannotRun: {}, failed: {}}}
	r.Kernel = "machine"
	if _, err := os.Stat(filepath.Join(report, guestConsole)); err == nil {
		r.Kernel, c.filters = "guest", true
	}
	if log, err := os.ReadFile(filepath.Join(report, managerLog)); err == nil {
		if m := managerVersion.FindSubmatch(log); m != nil {
			r.Manager = string(m[1])
		}
	}
	outcomes := readOutcomes(t, report)
	if len(outcomes) == 0 {
		r.count(failed, module, noReport)
		return r
	}
	var verdicts strings.Builder
	for _, o := range outcomes {
		v, why := c.verdictOf(o)
		r.count(v, o.Test, why)
		fmt.Fprintf(&verdicts, "%s | %s | %s\n", v, o.Test, why)
	}
	slices.Sort(r.Failures)
	require.NoError(t, os.WriteFile(filepath.Join(report, "failures.txt"), []byte(strings.Join(r.Failures, "\n")+"\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(report, "verdicts.txt"), []byte(verdicts.String()), 0o600))
	return r
}

func (r *row) count(v verdict, test, why string) {
	r.Met++
	switch v {
	case passed:
		r.Passed++
		return
	case failed:
		r.Failed++
		r.Failures = append(r.Failures, test+" | "+why)
	case declared:
		r.Declared++
	case cannotRun:
		r.No++
	}
	r.Reasons[v][why]++
}

// verdictOf is what became of a test, and why. One that passed because a key was refused has proved nothing of the key.
func (c classifier) verdictOf(o outcome) (verdict, string) {
	if e, ok := c.exceptions[strings.TrimPrefix(o.Test, moduleOf)]; ok && o.Outcome != "passed" {
		return e.verdict, e.why
	}
	for _, call := range o.Calls {
		if path := c.refusedKey(call); path != "" {
			return declared, path
		}
	}
	if o.Outcome == "passed" {
		return passed, ""
	}
	if path := c.refusedVerb(o.Text); path != "" {
		return declared, path
	}
	if missing := c.missingHere(o); missing != "" {
		return cannotRun, missing
	}
	if o.Outcome == "skipped" && !strings.Contains(o.Text, "Skipped: ") {
		return cannotRun, "upstream expects it to fail"
	}
	if o.Outcome == "skipped" {
		return cannotRun, "skips itself: " + lastLine(strings.ReplaceAll(o.Text, "setup: Skipped: ", ""))
	}
	return failed, lastLine(o.Text)
}

var item = regexp.MustCompile(`\[[^\]]*\]`)

// refusedKey is the path or the type that validate refuses in the document of a call, and that the schema's table does
// not support.
func (c classifier) refusedKey(call call) string {
	if path := c.refusedVerb(call.Said); path != "" {
		return path
	}
	if call.Verb == "command" {
		return ""
	}
	for _, p := range problemsOf(call.Document) {
		if key := c.declaredKey(item.ReplaceAllString(p.Path, "[]"), p.Reason); key != "" {
			return key
		}
	}
	return ""
}

// declaredKey is the unsupported key or type that a problem is about; "" where the table does not say so.
func (c classifier) declaredKey(path, reason string) string {
	if path == "interfaces[].type" {
		if kind := strings.Trim(strings.Fields(reason)[0], `"`); c.unsupported[kind] {
			return "type " + kind
		}
		return ""
	}
	word, rest, _ := strings.Cut(reason, " ")
	if inner := tree.Join(path, word); c.limited[inner] || c.unsupported[inner] && strings.Contains(rest, "not supported") {
		return inner
	}
	key, part := strings.CutSuffix(strings.SplitN(reason, ",", 2)[0], "is part of nmstate")
	if path = tree.Join(path, strings.TrimSpace(key)); part && c.unsupported[strings.TrimSuffix(path, ".")] {
		return strings.TrimSuffix(path, ".")
	}
	return ""
}

// problemsOf are what validate finds in a document.
func problemsOf(document string) tree.Problems {
	d, err := netstate.Decode([]byte(document))
	if err == nil {
		err = netstate.Validate(d)
	}
	var unreadable tree.Problems
	if errors.As(err, &unreadable) {
		return unreadable
	}
	var refused netstate.Problems
	_ = errors.As(err, &refused) // an error of another kind names no key
	var out tree.Problems
	for _, text := range refused {
		path, reason, _ := strings.Cut(text, ": ")
		out = append(out, tree.Problem{Path: path, Reason: reason})
	}
	return out
}

// verbs are what docs/network-cli.md says the program refuses.
var verbs = regexp.MustCompile(
	`(--kernel|--no-verify|gen-conf) is not supported|unknown command "(service|edit|autoconf|persist-nic-names)"`,
)

func (c classifier) refusedVerb(text string) string {
	if m := verbs.FindStringSubmatch(text); m != nil {
		return "nmstatectl " + m[1] + m[2]
	}
	return ""
}

// signs of what is missing on this machine; the first group names it.
var signs = []struct {
	pattern *regexp.Regexp
	what    string
}{
	{regexp.MustCompile(`this kernel has no links of kind \S+ \(module ([\w-]+)\)`), "kernel module "},
	{regexp.MustCompile(`ip link add .*type (\w+)[^:]*: (?:Error: Unknown device type|RTNETLINK answers: Operation not supp)`), "kernel module "},
	{regexp.MustCompile(`No such file or directory: '(?:/etc/)?([\w-]+)['/]`), "program "},
	{regexp.MustCompile(`modprobe (\w+)[^:]*: `), "kernel module "},
	{regexp.MustCompile(`(no Open vSwitch plug-in)`), "NetworkManager: "},
	{regexp.MustCompile(`(System has not been booted with systemd)`), ""},
}

func (c classifier) missingHere(o outcome) string {
	text := o.Text
	for _, call := range o.Calls {
		text += "\n" + call.Said
	}
	for _, s := range signs {
		if m := s.pattern.FindStringSubmatch(text); m != nil {
			return s.what + m[1]
		}
	}
	for _, call := range o.Calls {
		if !c.filters && filtersVLANs(call.Document) {
			return "kernel option BRIDGE_VLAN_FILTERING"
		}
	}
	return ""
}

// filtersVLANs says whether a document wants a bridge to filter VLANs.
func filtersVLANs(document string) bool {
	d, err := netstate.Decode([]byte(document))
	if err != nil {
		return false
	}
	for _, i := range d.Interfaces {
		if i.Type != netstate.TypeLinuxBridge || i.Bridge == nil {
			continue
		}
		if slices.ContainsFunc(i.Bridge.Ports, func(p netstate.BridgePort) bool { return p.VLAN != nil }) {
			return true
		}
	}
	return false
}

// lastLine is what a test said at its end, without where.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for k := len(lines) - 1; k >= 0; k-- {
		if rest, ok := strings.CutPrefix(lines[k], "E   "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return lines[len(lines)-1]
}
