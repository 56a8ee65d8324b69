package operation_test

import (
	"encoding/base64"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

const checksum = "5e7a1c0ffee0d15ea5e0ddba11ca11ab1e0b5e55edface0ff0b0a7ab1eca5cad"

func TestRedactionLeavesWhatExplains(t *testing.T) {
	for _, text := range []string{
		"gateway 192.0.2.1 on br-ex gives no sign of life",
		"registry.example.org/etcd@sha256:" + checksum,
		"/ostree/deploy/rhcos/deploy/" + checksum + ".0/etc",
		"connect: connection refused https://api.sno.example.org:6443/healthz",
		// A run of the letters of base64 begins behind the dash, with the end of the operation's id.
		"enable ip-configuration.service in /ostree/deploy/rhcos_ipc-20260102-030405-beef/deploy/" + checksum + ".0: no such file",
		"rhcos_ipc-20260102-030405-0a1f/var/lib/containers/storage/overlay/" + checksum + "/merged",
		"ipv6.token: only makes sense with EUI64 address generation mode",
		"/etc/NetworkManager/systemConnections/deploy/OpenShift/resources/kubernetes/x",
	} {
		require.Equal(t, text, string(operation.Redact([]byte(text))))
	}
}

// TestNoPathIsMadeOfAKey encodes keys of all sizes, with a slash in every place: each is blanked, wherever it stands.
func TestNoPathIsMadeOfAKey(t *testing.T) {
	source := rand.NewChaCha8([32]byte{1})
	for size := 45; size < 200; size++ {
		for range 50 {
			key := make([]byte, size)
			_, err := source.Read(key)
			require.NoError(t, err)
			secret := base64.StdEncoding.EncodeToString(key)
			require.Equal(t, "data [redacted]", string(operation.Redact([]byte("data "+secret))))
			slashed := "/" + secret[:size/2] + "/" + secret[size/2:]
			require.Equal(t, "data [redacted]", string(operation.Redact([]byte("data "+slashed))))
			behind := "rhcos_ipc-20260102-030405-beef/" + secret
			require.NotContains(t, string(operation.Redact([]byte(behind))), secret[:8])
		}
	}
}
