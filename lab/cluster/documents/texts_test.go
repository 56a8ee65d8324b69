package documents

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

func TestTextsOfEveryFamily(t *testing.T) {
	both := site.Site{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24"), netip.MustParsePrefix("2001:db8::10/64")}}
	v6 := site.Site{Addresses: []netip.Prefix{netip.MustParsePrefix("2001:db8::10/64")}}
	for name, tt := range map[string]struct {
		site                   site.Site
		url, listen, urlHost   string
		machineNet, serviceNet string
	}{
		"IPv4":       {site.Site{}, "https://192.0.2.10:2379", "0.0.0.0", "192.0.2.10", "192.0.2.0/24", "172.30.0.0/16"},
		"IPv6":       {v6, "https://[2001:db8::10]:2379", "[::]", "[2001:db8::10]", "2001:db8::/64", "fd02::/112"},
		"dual stack": {both, "https://192.0.2.10:2379", "[::]", "192.0.2.10", "192.0.2.0/24", "172.30.0.0/16,fd02::/112"},
	} {
		t.Run(name, func(t *testing.T) {
			s := tt.site.WithDefaults()
			tx, err := NewTexts(s)
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
			require.Contains(t, pod.Spec.Containers[0].Env, corev1.EnvVar{Name: "NODE_sno_IP", Value: s.Primary().String()})
			require.NoError(t, yaml.UnmarshalStrict([]byte(tx.APIServerPod), &pod))
			require.Contains(t, tx.InstallConfig, "cidr: "+tt.machineNet)
			require.Contains(t, tx.EtcdEnv, `export ALL_ETCD_ENDPOINTS="`+tt.url+`"`)
		})
	}
}
