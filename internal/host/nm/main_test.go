package nm_test

import (
	"os"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
)

func TestMain(m *testing.M) { os.Exit(nmtest.Main(m)) }
