package containerimage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheProductsImageIsWhatItsContainerfileSays: the lab runs the image that a user builds.
func TestTheProductsImageIsWhatItsContainerfileSays(t *testing.T) {
	image, err := Build("../../../Containerfile", "/bin-dir", "localhost/x:1")
	require.NoError(t, err)
	require.Equal(t, Image{
		Names: []string{"localhost/x:1"},
		Files: map[string]string{"usr/local/bin/lifecycle-agent": "/bin-dir/lifecycle-agent", "usr/local/bin/lca-cli": "/bin-dir/lca-cli",
			"etc/ssl/certs/ca-certificates.crt": "/etc/ssl/certs/ca-certificates.crt"},
		Entrypoint: []string{"/usr/local/bin/lifecycle-agent"}, User: "65532:65532",
	}, image)
}

func TestAnInstructionThatTheLabCannotCarryOutIsAnError(t *testing.T) {
	for _, line := range []string{"FROM debian", "RUN true", "COPY lonely", "COPY a b", "USER a b", "ENTRYPOINT true"} {
		file := filepath.Join(t.TempDir(), "Containerfile")
		require.NoError(t, os.WriteFile(file, []byte("FROM scratch\n"+line+"\n"), 0o600))
		_, err := Build(file, "/bin-dir", "x")
		require.Error(t, err, line)
	}
}
