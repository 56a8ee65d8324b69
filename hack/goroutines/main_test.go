package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStartsGoroutine(t *testing.T) {
	for body, want := range map[string]bool{
		"func f() { go g() }":                                     true,
		"func f() { var w sync.WaitGroup; w.Go(g) }":              true,
		"func f(b bool) { if b { func() { go func() {}() }() } }": true,
		"func f() { g() }":                                        false,
		`import "sigs.k8s.io/controller-runtime/pkg/manager"`:     true,
		`import "sigs.k8s.io/controller-runtime/pkg/client"`:      false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "f.go", "package p\n"+body, 0)
		require.NoError(t, err)
		require.Equal(t, want, startsGoroutine(file), body)
	}
}

func TestEveryTestedPackageIsInOneOfTheLists(t *testing.T) {
	const module = "github.com/lifecycle-agent/lifecycle-agent/"
	patterns := []string{module + "internal/host/...", module + "hack/..."}
	var raced, others strings.Builder
	require.NoError(t, run(&raced, patterns, false))
	require.NoError(t, run(&others, patterns, true))
	for name, concurrent := range map[string]bool{
		"internal/host/trees": true, "internal/host/etcd": true, "internal/host/files": true, // through its contract suite
		"internal/host/run": false, "hack/goroutines": false,
	} {
		require.Equal(t, concurrent, strings.Contains(raced.String(), module+name+"\n"), name)
		require.Equal(t, !concurrent, strings.Contains(others.String(), module+name+"\n"), name)
	}
}
