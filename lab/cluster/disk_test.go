package cluster

import (
	"encoding/json"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func writeSite(t *testing.T, s Site) (etc, varDir string) {
	t.Helper()
	id, err := dualIdentity() // no test here looks at the addresses in its certificates
	require.NoError(t, err)
	tx, err := newTexts(s)
	require.NoError(t, err)
	tx.EndpointKey = "8e9e05c52164694d"
	mc, err := newMachineConfigs(s)
	require.NoError(t, err)
	files, err := diskTree(s, id, tx, mc)
	require.NoError(t, err)
	etc, varDir = filepath.Join(t.TempDir(), "etc"), filepath.Join(t.TempDir(), "var")
	require.NoError(t, files.write(etc, varDir))
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
	etc, varDir := writeSite(t, Site{}.WithDefaults())
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
	etc, varDir := writeSite(t, Site{}.WithDefaults())
	for _, dir := range []string{etc, varDir} {
		for _, file := range mentions(t, dir, "PRIVATE KEY") {
			info, err := os.Stat(filepath.Join(dir, file))
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file)
		}
	}
}

func TestKubeletCertificatesAreLinksToDatedFiles(t *testing.T) {
	_, varDir := writeSite(t, Site{}.WithDefaults())
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

func TestTextsOfEveryFamily(t *testing.T) {
	v6 := Site{Addresses: []netip.Prefix{netip.MustParsePrefix("2001:db8::10/64")}}
	for name, tt := range map[string]struct {
		site                   Site
		url, listen, urlHost   string
		machineNet, serviceNet string
	}{
		"IPv4":       {Site{}, "https://192.0.2.10:2379", "0.0.0.0", "192.0.2.10", "192.0.2.0/24", "172.30.0.0/16"},
		"IPv6":       {v6, "https://[2001:db8::10]:2379", "[::]", "[2001:db8::10]", "2001:db8::/64", "fd02::/112"},
		"dual stack": {dualStack(), "https://192.0.2.10:2379", "[::]", "192.0.2.10", "192.0.2.0/24", "172.30.0.0/16,fd02::/112"},
	} {
		t.Run(name, func(t *testing.T) {
			site := tt.site.WithDefaults()
			tx, err := newTexts(site)
			require.NoError(t, err)
			var config struct {
				Arguments      map[string][]string `json:"apiServerArguments"`
				ServicesSubnet string              `json:"servicesSubnet"`
				ServingInfo    struct{ BindAddress string }
			}
			require.NoError(t, json.Unmarshal([]byte(tx.APIConfig), &config))
			require.Equal(t, []string{tt.url, "https://localhost:2379"}, config.Arguments["etcd-servers"])
			require.Equal(t, tt.serviceNet, config.ServicesSubnet)
			require.Equal(t, tt.listen+":6443", config.ServingInfo.BindAddress)
			var pod corev1.Pod
			require.NoError(t, yaml.UnmarshalStrict([]byte(tx.EtcdPod), &pod))
			require.Contains(t, pod.Spec.Containers[0].Env, corev1.EnvVar{Name: "NODE_sno_ETCD_URL_HOST", Value: tt.urlHost})
			require.Contains(t, pod.Spec.Containers[0].Env, corev1.EnvVar{Name: "NODE_sno_IP", Value: site.Primary().String()})
			require.NoError(t, yaml.UnmarshalStrict([]byte(tx.APIServerPod), &pod))
			require.Contains(t, tx.InstallConfig, "cidr: "+tt.machineNet)
			require.Contains(t, tx.EtcdEnv, `export ALL_ETCD_ENDPOINTS="`+tt.url+`"`)
		})
	}
}
