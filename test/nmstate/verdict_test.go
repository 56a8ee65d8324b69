//go:build nmstate

package nmstate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A verdict follows from what was seen: a refused key of the schema's table, a refused verb, a missing module. Everything
// else is a failure, and a test that passed because a key was refused has proved nothing.
func TestVerdicts(t *testing.T) {
	c := newClassifier(t)
	refused := func(document string) []call { return []call{{Verb: "apply", Document: document, Said: "refused"}} }
	for name, test := range map[string]struct {
		o    outcome
		want verdict
		why  string
	}{
		"passed": {outcome{Outcome: "passed"}, passed, ""},
		"passed by a refusal": {outcome{Outcome: "passed", Calls: refused(`{"interfaces": [{"name": "a", "type": "ethernet", "dispatch": {}}]}`)},
			declared, "interfaces[].dispatch"},
		"a type": {outcome{Outcome: "failed", Calls: refused(`{"interfaces": [{"name": "a", "type": "hsr"}]}`)}, declared, "type hsr"},
		"a table": {outcome{Outcome: "failed", Calls: refused(
			`{"routes": {"config": [{"destination": "192.0.2.0/24", "next-hop-interface": "a", "table-id": 255}]}}`,
		)}, declared, "routes.config[].table-id"},
		"a family": {outcome{Outcome: "failed", Calls: refused(
			`{"interfaces": [{"name": "a", "ipv4": {"enabled": true, "forwarding": true}}]}`,
		)}, declared, "interfaces[].ipv4.forwarding"},
		"a verb": {outcome{Outcome: "failed", Calls: []call{{Said: "apply: --kernel is not supported: x"}}}, declared, "nmstatectl --kernel"},
		"a mistake that is no declared key": {outcome{
			Outcome: "failed", Text: "E   no", Calls: refused(`{"interfaces": [{"name": "a", "mtu": 1}]}`),
		}, failed, "no"},
		"a module": {outcome{Outcome: "failed", Calls: []call{{Said: "this kernel has no links of kind bond (module bonding)"}}}, cannotRun,
			"kernel module bonding"},
		"a program": {outcome{Outcome: "failed", Text: "E   FileNotFoundError: [Errno 2] No such file or directory: 'systemctl'"}, cannotRun,
			"program systemctl"},
		"a command that went wrong before": {outcome{Outcome: "failed", Calls: []call{{
			Verb: "command", Said: "ip link add dummy1 type dummy: Error: Unknown device type.",
		}}}, cannotRun, "kernel module dummy"},
		"skipped": {outcome{Outcome: "skipped", Text: "setup: Skipped: too old"}, cannotRun, "skips itself: too old"},
	} {
		t.Run(name, func(t *testing.T) {
			v, why := c.verdictOf(test.o)
			require.Equal(t, test.want, v)
			require.Equal(t, test.why, why)
		})
	}
}
