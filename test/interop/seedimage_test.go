//go:build interop

package interop

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

// constants are the literal constants of a Go file, by name.
func constants(t *testing.T, name string, text []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for i, value := range spec.Values {
				if literal, ok := value.(*ast.BasicLit); ok {
					if out[spec.Names[i].Name], err = strconv.Unquote(literal.Value); err != nil {
						out[spec.Names[i].Name] = literal.Value
					}
				}
			}
		}
		return true
	})
	return out
}

// fields are the JSON keys of a struct of a Go file.
func fields(t *testing.T, name string, text []byte, structure string) (out []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != structure {
			return true
		}
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			tag, err := strconv.Unquote(f.Tag.Value)
			require.NoError(t, err)
			key, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			out = append(out, key)
		}
		return false
	})
	require.NotEmpty(t, out, "%s has a struct %s", name, structure)
	return out
}

// lifecycle-agent finds in our seed images the labels, files and keys that it reads: their names are those in its source.
func TestLifecycleAgentReadsSeedImages(t *testing.T) {
	src := open(t, "openshift-kni/lifecycle-agent")
	const names, info = "internal/common/consts.go", "lca-cli/seedclusterinfo/seedclusterinfo.go"
	theirs := constants(t, names, src.Read(names))
	for name, ours := range map[string]string{
		"SeedFormatVersion": image.FormatVersion, "SeedFormatOCILabel": image.LabelFormat, "SeedClusterInfoOCILabel": image.LabelCluster,
		"ContainersListFileName": image.Containers, "SeedClusterInfoFileName": image.Manifest,
	} {
		require.Equal(t, theirs[name], ours, name)
	}
	prep := string(src.Read("internal/prep/prep.go"))
	for _, file := range []string{image.Repo, image.RPMOSTree, image.MachineConfig, image.Var, image.Etc, image.EtcDeletions} {
		require.Contains(t, prep, file, "it restores this file")
	}
	ours := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[seed.ClusterInfo]()) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		ours[key] = true
	}
	for _, key := range fields(t, info, src.Read(info), "SeedClusterInfo") {
		require.True(t, ours[key], "key %s of its cluster info is in ours", key)
	}
}
