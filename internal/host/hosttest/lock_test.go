package hosttest_test

import (
	"context"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
)

func TestLock(t *testing.T) {
	hostcontract.TestLock(t, func(t *testing.T) hostcontract.LockFixture {
		n := node(t)
		return hostcontract.LockFixture{
			Lock: n.Lock(), Reserve: n.Reserve,
			Other: func(t *testing.T, h host.Holder) func() {
				if _, err := n.Lock().Acquire(t.Context(), h); err != nil {
					t.Fatal(err)
				}
				return func() {
					_ = n.Run(context.Background(), func(context.Context) error { n.KillHere(); return nil })
				}
			},
			Reboot: func(t *testing.T) {
				n.Cut()
				if err := n.Boot(context.Background()); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}
