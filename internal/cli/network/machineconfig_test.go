package network

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMachineConfig(t *testing.T) {
	for _, c := range []struct {
		name, in string
		args     []string
		want     []string
		problem  string
	}{
		{"document", "interfaces: [{name: eth1, type: ethernet, state: up}]", []string{"--name", "storage", "--pool", "worker"},
			[]string{"kind: MachineConfig", "99-worker-generated-network-storage", "machineconfiguration.openshift.io/role: worker"}, ""},
		{"overlay", "", []string{"--overlay"}, []string{"99-master-network-overlay", "systemConnectionsMerged.mount"}, ""},
		{"disruption", "", []string{"--node-disruption-policy"}, []string{"kind: MachineConfiguration", "nodeDisruptionPolicy"}, ""},
		{"no name", "interfaces: []", nil, nil, "--name must be set"},
		{"a bad document", "interfaces: [{name: a, mtuu: 3}]", []string{"--name", "p"}, nil, `did you mean "mtu"?`},
		{"two requests", "", []string{"--overlay", "file"}, nil, "take no document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			cmd := DocumentsCommand(Documents{In: strings.NewReader(c.in), Out: &out})
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			cmd.SetArgs(append([]string{"machineconfig"}, c.args...))
			err := cmd.ExecuteContext(t.Context())
			if c.problem != "" {
				require.ErrorContains(t, err, c.problem)
				require.Empty(t, out.String(), "nothing is printed")
				return
			}
			require.NoError(t, err)
			for _, text := range c.want {
				require.Contains(t, out.String(), text)
			}
		})
	}
}
