package rehearsal_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/rehearsal"
)

func TestTheReportSaysWhatIsNotProvedAsPlainlyAsWhatIs(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, rehearsal.Rehearsal{Rehearsal: lcav1.Rehearsal{
		OperationID: "20260102-030405-0001", Result: lcav1.RehearsalPassed, AddressChanges: []string{"192.0.2.10 -> 198.51.100.20"},
		Proofs: []lcav1.RehearsalProof{
			{Name: "etcd", Title: "etcd starts", Result: lcav1.ProofProved, Message: "healthy"},
			{Name: "boot", Title: "it boots", Result: lcav1.ProofNotProved, Message: "only a boot proves a boot"},
		},
		Outage: []lcav1.RehearsalOutage{{Part: "start etcd", Seconds: 2, Source: "measured"}, {Part: "reboot", Source: "not known"}},
	}}.Text(&out))
	require.Equal(t, `Rehearsal  20260102-030405-0001: Passed
Address    192.0.2.10 -> 198.51.100.20

FAILED
  nothing

PROVED
  etcd  etcd starts
        healthy

NOT PROVED
  boot  it boots
        only a boot proves a boot

EXPECTED OUTAGE
  2 s  start etcd  measured
  ?    reboot      not known
`, out.String())
}
