package soak

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheSummaryTellsOfNodesThatDidNotSettle(t *testing.T) {
	at := netip.MustParseAddr("192.0.2.10")
	r := Report{Machine: "qemu", Seed: 7, Seconds: 60, Lost: 1, Rounds: []Round{
		{Cuts: make([]Cut, 3), At: at}, {Cuts: make([]Cut, 2), Ended: "LOST: in vain"}, {Cuts: make([]Cut, 1), Ended: "stopped before the node had settled"},
	}}
	require.Equal(t, "qemu: 6 power cuts in 3 flows in 60 s, 1 nodes lost; settled 1 times at 192.0.2.10, 0 times at 198.51.100.20, not 2 times; seed 7", r.Summary())
}
