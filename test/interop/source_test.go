//go:build interop

package interop

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/test/interop/sources"
)

// programs has no default: what is not named is skipped.
const programs = "INTEROP_BIN"

type source = sources.Source

func open(t testing.TB, project string) source { t.Helper(); return sources.Open(t, project) }

// objects decodes YAML, one object or many.
func objects(t testing.TB, data []byte) (out []*unstructured.Unstructured) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
}

// program is another project's program, built by its own instructions.
func program(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv(programs)
	if root == "" {
		t.Skipf("reason: %s names no folder with programs of other projects; %s is needed", programs, name)
	}
	file := filepath.Join(root, name)
	if _, err := os.Stat(file); err != nil {
		t.Skipf("reason: %s has no program %s", programs, name)
	}
	return file
}
