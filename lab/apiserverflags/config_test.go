package apiserverflags

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExpandPutsTheFlagsWhereTheFileStood(t *testing.T) {
	dir := t.TempDir()
	keys, config := filepath.Join(dir, "keys"), filepath.Join(dir, "config.yaml")
	require.NoError(t, os.Mkdir(keys, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(keys, "one.pub"), nil, 0o600))
	require.NoError(t, os.WriteFile(config, []byte(`
kind: KubeAPIServerConfig
apiServerArguments: {etcd-servers: ["https://192.0.2.10:2379", "https://localhost:2379"]}
serviceAccountPublicKeyFiles: [`+keys+`]
servingInfo: {bindAddress: "0.0.0.0:6443", certFile: /a.crt, keyFile: /a.key}
`), 0o600))
	got, err := Expand([]string{"--first", "--openshift-config=" + config, "-v=1"})
	require.NoError(t, err)
	require.Equal(t, []string{"--first", "--bind-address=0.0.0.0", "--secure-port=6443", "--tls-cert-file=/a.crt", "--tls-private-key-file=/a.key",
		"--service-account-key-file=" + keys + "/one.pub", "--etcd-servers=https://192.0.2.10:2379", "--etcd-servers=https://localhost:2379", "-v=1"}, got)
}

func TestExpandTellsWhatIsWrong(t *testing.T) {
	_, err := Expand([]string{"--openshift-config=/missing"})
	require.ErrorContains(t, err, "read the configuration of kube-apiserver")
}
