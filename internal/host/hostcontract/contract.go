// Package hostcontract holds the behaviours that the comments on the ports of package host promise,
// as one suite a port: each adapter passes them on a real system, and the fake of hosttest in memory.
//
// Tests only. The package imports the ports, netstate, testify and the standard library; it must not
// import a domain package, an adapter, the fake or Kubernetes.
package hostcontract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// behaviour is one thing a port promises.
type behaviour[F any] struct {
	name  string
	prove func(t *testing.T, f F)
}

// contract proves each behaviour on a fresh subject.
func contract[F any](t *testing.T, fresh func(t *testing.T) F, all []behaviour[F]) {
	t.Helper()
	for _, b := range all {
		t.Run(b.name, func(t *testing.T) { b.prove(t, fresh(t)) })
	}
}

// waitLimit bounds the wait for a condition.
const waitLimit = 30 * time.Second

// eventually waits for a condition; pass lets time go by.
func eventually(t *testing.T, what string, pass func(), holds func() bool) {
	t.Helper()
	for end := time.Now().Add(waitLimit); !holds(); pass() {
		require.True(t, time.Now().Before(end), "waited %s until %s", waitLimit, what)
	}
}

func noError(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		require.NoError(t, err)
	}
}
