package hosttest

import (
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/systemd"
)

// Checksum is that of the commit of every node that is given no other.
const Checksum = "5e7a1c0ffee0d15ea5e0ddba11ca11ab1e0b5e55edface0ff0b0a7ab1eca5cade"

// clusterName and baseDomain are those of the node's cluster.
const (
	clusterName = "sno"
	baseDomain  = "example.org"
)

// osCommit is what every deployment is made of. /usr/etc becomes /etc.
func osCommit() map[string]machine.Inode {
	return map[string]machine.Inode{
		"/usr/lib/systemd/systemd":                        {Mode: 0o755, Data: []byte("ELF")},
		"/usr/lib/os-release":                             machine.Text("ID=rhcos\nVERSION_ID=4.22\n"),
		path.Join(systemd.VendorUnits, host.UnitCRIO):     machine.Text("[Unit]\nDescription=Container runtime\n[Service]\nType=notify\nExecStart=/usr/bin/crio\n[Install]\nWantedBy=multi-user.target\n"),
		path.Join(systemd.VendorUnits, "sshd.service"):    machine.Text("[Unit]\nDescription=OpenSSH\n[Service]\nType=notify\nExecStart=/usr/sbin/sshd -D\n[Install]\nWantedBy=multi-user.target\n"),
		path.Join(systemd.VendorUnits, "chronyd.service"): machine.Text("[Unit]\nDescription=NTP\n[Service]\nType=forking\nExecStart=/usr/sbin/chronyd\n[Install]\nWantedBy=multi-user.target\n"),
		path.Join(systemd.VendorUnits, host.UnitNetwork):  machine.Text("[Unit]\nDescription=Network Manager\n[Service]\nType=dbus\nExecStart=/usr/sbin/NetworkManager\n[Install]\nWantedBy=multi-user.target\n"),
		"/usr/etc/NetworkManager/NetworkManager.conf":     machine.Text("[main]\nplugins=keyfile\n"),
		"/usr/etc/chrony.conf":                            machine.Text("pool pool.example.org iburst\n"),
		"/usr/etc/hosts":                                  machine.Text("127.0.0.1 localhost\n::1 localhost\n"),
	}
}

// installed is what installation and the cluster have added to the booted deployment's /etc and
// to /var, by path in the booted system.
func (n *Node) installed() map[string]machine.Inode {
	ip := n.options.Addresses[0].Addr().String()
	all := map[string]machine.Inode{
		path.Join(host.UnitDir, host.UnitKubelet): machine.Text("[Unit]\nDescription=Kubernetes node agent\nRequires=crio.service\nAfter=crio.service\n" +
			"[Service]\nType=notify\nExecStart=/usr/bin/kubelet\nRestart=always\n[Install]\nWantedBy=multi-user.target\n"),
		path.Join(host.UnitDir, host.UnitDnsmasq): machine.Text("[Unit]\nDescription=Cluster names\nBefore=kubelet.service crio.service\n" +
			"[Service]\nType=simple\nExecStart=/usr/sbin/dnsmasq -k\nRestart=always\n[Install]\nWantedBy=multi-user.target\n"),
		host.DnsmasqOverrides: machine.Text(fmt.Sprintf("SNO_CLUSTER_NAME_OVERRIDE=%s\nSNO_BASE_DOMAIN_OVERRIDE=%s\nSNO_DNSMASQ_IP_OVERRIDE=%s\n",
			clusterName, baseDomain, ip)),
		host.NodeIPHint:        machine.Text("KUBELET_NODEIP_HINT=" + n.options.Addresses[0].Masked().Addr().String() + "\n"),
		host.MachineConfig:     machine.Text(currentConfig),
		host.EtcdPodManifest:   machine.Secret(etcdPod(ip)),
		host.LBExtKubeconfig:   machine.Secret(kubeconfig("api." + clusterName + "." + baseDomain)),
		host.LocalKubeconfig:   machine.Secret(kubeconfig("localhost")),
		host.KubeletConfigJSON: machine.Secret(`{"auths":{"registry.example.org":{"auth":"c2VlZDpzZWVk"}}}` + "\n"),
		host.CLIInVar:          {Mode: 0o755, Data: []byte("lca-cli program\n")},
		"/etc/hostname":        machine.Text(etcd.NodeName + "\n"),

		"/etc/cni/multus/certs/multus-client-current.pem":        machine.Secret("multus certificate\n"),
		"/etc/openvswitch/.conf.db.~lock~":                       machine.Secret(""),
		"/etc/openvswitch/conf.db":                               machine.Text(n.UplinkName() + "\n"),
		"/var/lib/ovn-ic/etc/ovnnb_db.db":                        machine.Secret("ovn northbound\n"),
		"/var/lib/kubelet/pki/kubelet-client-2030-01-01.pem":     machine.Secret("kubelet client certificate\n"),
		"/var/lib/kubelet/pki/kubelet-server-2030-01-01.pem":     machine.Secret("kubelet serving certificate\n"),
		host.KubeletClientCert:                                   machine.Symlink("kubelet-client-2030-01-01.pem"),
		host.KubeletServingCert:                                  machine.Symlink("kubelet-server-2030-01-01.pem"),
		"/var/lib/containers/storage/overlay-images/images.json": machine.Secret("[]\n"),
		"/var/lib/containers/storage/overlay/layer1/diff":        machine.Secret(strings.Repeat("layer ", 100)),
		"/var/log/journal/system.journal":                        machine.Secret("journal\n"),
		"/var/lib/etcd/member/snap/db":                           etcd.Installed(n.options.Addresses),
	}
	for _, unit := range []string{host.UnitKubelet, host.UnitDnsmasq} {
		all[path.Join(host.UnitDir, "multi-user.target.wants", unit)] = machine.Symlink(path.Join(host.UnitDir, unit))
	}
	for _, unit := range []string{host.UnitCRIO, "sshd.service", "chronyd.service"} {
		all[path.Join(host.UnitDir, "multi-user.target.wants", unit)] = machine.Symlink(path.Join(systemd.VendorUnits, unit))
	}
	maps.Copy(all, n.InstalledProfiles())
	return all
}

const currentConfig = `{"kind":"MachineConfig","metadata":{"name":"rendered-master-0"},"spec":{"kernelArguments":["systemd.unified_cgroup_hierarchy=1"],` +
	`"config":{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/var/lib/kubelet/config.json","contents":{"source":"data:,"}},` +
	`{"path":"/usr/local/bin/dnsmasq_config.sh","contents":{"source":"data:,"}}]}}}}` + "\n"

func etcdPod(ip string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: etcd\n  namespace: openshift-etcd\nspec:\n  containers:\n" +
		"  - name: etcd\n    image: registry.example.org/etcd@sha256:0000000000000000000000000000000000000000000000000000000000000000\n" +
		"    env:\n    - name: ALL_ETCD_ENDPOINTS\n      value: https://" + etcd.URLHost(ip) + ":2379\n"
}

func kubeconfig(server string) string {
	return "apiVersion: v1\nkind: Config\nclusters:\n- name: cluster\n  cluster:\n    server: https://" + server + ":6443\n"
}
