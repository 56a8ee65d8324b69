//go:build nmstate

package nmstate

import (
	"os"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
)

// Variables of a copy of this binary that runs one module in namespaces of its own.
const (
	envModule = "NMSTATE_MODULE" // file of the module, below tests/integration
	envTree   = "NMSTATE_TREE"   // what assemble made
	envReport = "NMSTATE_REPORT" // folder for what the module said
)

func TestMain(m *testing.M) {
	if os.Getenv(envModule) != "" {
		os.Exit(nmtest.Main(m))
	}
	os.Exit(m.Run())
}
