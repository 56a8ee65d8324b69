package main

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/version"
)

func TestBuildInfo(t *testing.T) {
	registry := prometheus.NewRegistry()
	require.NoError(t, registerBuildInfo(registry, version.Info{Version: "v1.2.3", Commit: "abc", Go: "go1.26"}))
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP lifecycle_agent_build_info 1, labelled with the version, commit and Go version of this program.
# TYPE lifecycle_agent_build_info gauge
lifecycle_agent_build_info{commit="abc",goversion="go1.26",version="v1.2.3"} 1
`)))
	require.Error(t, registerBuildInfo(registry, version.Info{Version: "v1.2.3", Commit: "abc", Go: "go1.26"}))
}

func TestVersion(t *testing.T) {
	_, _, printed, err := execute(t, "--version")
	require.NoError(t, err)
	require.Equal(t, "lifecycle-agent version "+version.Get().String()+"\n", printed)
}
