package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestControllersAreEnabledAsInKubeControllerManager(t *testing.T) {
	for _, c := range []struct {
		role      Role
		selectors []string
		enabled   []string
		problem   string
	}{
		{Operator, []string{"*"}, []string{"ipam", "hostnet", "netpolicy", "netmachineconfig", "relocation"}, ""},
		{Operator, []string{"ipam"}, []string{"ipam"}, ""},
		{Operator, []string{"*", "-hostnet"}, []string{"ipam", "netpolicy", "netmachineconfig", "relocation"}, ""},
		{Operator, []string{"-hostnet", "*"}, []string{"ipam", "netpolicy", "netmachineconfig", "relocation"}, ""},
		{Operator, []string{"hostnet", "ipam"}, []string{"ipam", "hostnet"}, ""},
		{Node, []string{"*"}, []string{"ipconfig", "seedgen", "nodenetwork", "netenactment"}, ""},
		{Operator, []string{"-hostnet"}, nil, "no controller is enabled: --controllers=-hostnet"},
		{Node, nil, nil, "no controller is enabled: --controllers="},
		{Operator, []string{"*", "pools"}, nil, `unknown controller "pools": role operator has ipam, hostnet, netpolicy, netmachineconfig, relocation`},
		{Operator, []string{"*", "-ipconfig"}, nil, `unknown controller "ipconfig": role operator has ipam, hostnet, netpolicy, netmachineconfig, relocation`},
		{Node, []string{"ipam"}, nil, `unknown controller "ipam": role node has ipconfig, seedgen, nodenetwork, netenactment`},
		{Node, []string{"-*"}, nil, `unknown controller "*": role node has ipconfig, seedgen, nodenetwork, netenactment`},
	} {
		enabled, err := Enabled(c.role, c.selectors)
		if c.problem != "" {
			require.EqualError(t, err, c.problem)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.enabled, names(enabled), "%s %v", c.role, c.selectors)
	}
}

func TestNamesOfControllersAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range All() {
		require.False(t, seen[c.Name], c.Name)
		require.Contains(t, []Role{Operator, Node}, c.Role)
		seen[c.Name] = true
	}
}
