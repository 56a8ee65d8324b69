package nodefiles

import (
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/containerimage"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/documents"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/pki"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

// identity is made once: some thirty RSA keys take seconds. No test changes it.
var identity = sync.OnceValues(func() (*pki.Identity, error) { return pki.NewIdentity(site.Site{}.WithDefaults(), time.Now()) })

func writeSite(t *testing.T, s site.Site) (etc, varDir string) {
	t.Helper()
	id, err := identity() // no test here looks at the addresses in its certificates
	require.NoError(t, err)
	tx, err := documents.NewTexts(s)
	require.NoError(t, err)
	tx.EndpointKey = "8e9e05c52164694d"
	mc, err := documents.NewMachineConfigs(s)
	require.NoError(t, err)
	files, err := New(s, id, tx, mc)
	require.NoError(t, err)
	etc, varDir = filepath.Join(t.TempDir(), "etc"), filepath.Join(t.TempDir(), "var")
	require.NoError(t, files.Write(etc, varDir))
	return etc, varDir
}

// mentions lists the files below dir whose text holds the address.
func mentions(t *testing.T, dir, address string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), address) {
			rel, _ := filepath.Rel(dir, path)
			found = append(found, rel)
		}
		return err
	}))
	sort.Strings(found)
	return found
}

// The table in doc.go is a promise to whoever rewrites addresses.
func TestTheAddressIsOnDiskWhereTheTableSaysAndNowhereElse(t *testing.T) {
	etc, varDir := writeSite(t, site.Site{}.WithDefaults())
	require.Equal(t, []string{
		"default/sno_dnsmasq_configuration_overrides",
		"kubernetes/manifests/etcd-pod.yaml",
		"kubernetes/static-pod-resources/etcd-certs/configmaps/etcd-scripts/etcd.env",
		"kubernetes/static-pod-resources/etcd-certs/configmaps/restore-etcd-pod/pod.yaml",
		"kubernetes/static-pod-resources/etcd-certs/configmaps/restore-etcd-pod/quorum-restore-pod.yaml",
		"kubernetes/static-pod-resources/etcd-pod-1/configmaps/etcd-endpoints/8e9e05c52164694d",
		"kubernetes/static-pod-resources/etcd-pod-1/configmaps/etcd-pod/pod.yaml",
		"kubernetes/static-pod-resources/etcd-pod-1/etcd-pod.yaml",
		"kubernetes/static-pod-resources/kube-apiserver-pod-1/configmaps/config/config.yaml",
	}, mentions(t, etc, "192.0.2.10"))
	require.Empty(t, mentions(t, varDir, "192.0.2.10"))
}

func TestKeysAreForRootOnly(t *testing.T) {
	etc, varDir := writeSite(t, site.Site{}.WithDefaults())
	for _, dir := range []string{etc, varDir} {
		for _, file := range mentions(t, dir, "PRIVATE KEY") {
			info, err := os.Stat(filepath.Join(dir, file))
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file)
		}
	}
}

func TestKubeletCertificatesAreLinksToDatedFiles(t *testing.T) {
	_, varDir := writeSite(t, site.Site{}.WithDefaults())
	for _, kind := range []string{"client", "server"} {
		target, err := os.Readlink(filepath.Join(varDir, "lib/kubelet/pki/kubelet-"+kind+"-current.pem"))
		require.NoError(t, err)
		require.Regexp(t, `^/var/lib/kubelet/pki/kubelet-`+kind+`-\d{4}(-\d\d){5}\.pem$`, target)
		text, err := os.ReadFile(filepath.Join(varDir, strings.TrimPrefix(target, "/var/")))
		require.NoError(t, err)
		require.Contains(t, string(text), "BEGIN CERTIFICATE")
		require.Contains(t, string(text), "BEGIN EC PRIVATE KEY")
	}
}

// TestManifestsNameTheImage keeps the pods' image names and the archive's the same.
func TestManifestsNameTheImage(t *testing.T) {
	tx, err := documents.NewTexts(site.Site{}.WithDefaults())
	require.NoError(t, err)
	require.Contains(t, tx.EtcdPod, "image: "+containerimage.Etcd+"\n")
	require.Contains(t, tx.APIServerPod, "image: "+containerimage.APIServer+"\n")
	require.Contains(t, containerdConfig, `"`+containerimage.Pause+`"`)
}
