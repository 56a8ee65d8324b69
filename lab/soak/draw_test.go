package soak

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

func drawn(seed uint64, kind machine.Kind, next ...lcav1.IPConfigStage) (plans []plan) {
	random := rand.New(rand.NewPCG(seed, seed))
	for range 200 {
		plans = append(plans, draw(random, kind, next))
	}
	return plans
}

func TestASeedMeansTheSameMoments(t *testing.T) {
	next := []lcav1.IPConfigStage{lcav1.StageIdle, lcav1.StageRollback}
	require.Equal(t, drawn(7, machine.QEMU, next...), drawn(7, machine.QEMU, next...))
	require.NotEqual(t, drawn(7, machine.QEMU, next...), drawn(8, machine.QEMU, next...))
}

func TestOnlyWhatIsOfferedIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		name string
		next []lcav1.IPConfigStage
		want []flow
	}{
		{"idle", []lcav1.IPConfigStage{lcav1.StageConfig}, []flow{change}},
		{"changed", []lcav1.IPConfigStage{lcav1.StageIdle, lcav1.StageRollback}, []flow{final, rollback}},
		{"gone back", []lcav1.IPConfigStage{lcav1.StageIdle}, []flow{final}},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := map[flow]bool{}
			for _, p := range drawn(1, machine.Nspawn, c.next...) {
				seen[p.flow] = true
				require.Contains(t, c.want, p.flow)
				require.GreaterOrEqual(t, len(p.delays), fewest[p.flow])
				require.LessOrEqual(t, len(p.delays), most[p.flow])
				for _, d := range p.delays {
					require.Less(t, d, usual[machine.Nspawn][p.flow])
				}
			}
			require.Len(t, seen, len(c.want), "each of them is drawn at some time")
		})
	}
}
