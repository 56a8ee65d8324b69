package hosttest

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Checksum is that of the commit of every node that is given no other.
const Checksum = "5e7a1c0ffee0d15ea5e0ddba11ca11ab1e0b5e55edface0ff0b0a7ab1eca5cade"

// clusterName and baseDomain of the node's cluster; nodeName of its one node.
const (
	clusterName = "sno"
	baseDomain  = "example.org"
	nodeName    = "node0"
)

func text(s string) inode { return inode{mode: 0o644, data: []byte(s)} }

func secret(s string) inode { return inode{mode: 0o600, data: []byte(s)} }

// osCommit is what every deployment is made of. /usr/etc becomes /etc.
func osCommit() map[string]inode {
	return map[string]inode{
		"/usr/lib/systemd/systemd":                    {mode: 0o755, data: []byte("ELF")},
		"/usr/lib/os-release":                         text("ID=rhcos\nVERSION_ID=4.22\n"),
		path.Join(vendorUnits, host.UnitCRIO):         text("[Unit]\nDescription=Container runtime\n[Service]\nType=notify\nExecStart=/usr/bin/crio\n[Install]\nWantedBy=multi-user.target\n"),
		path.Join(vendorUnits, "sshd.service"):        text("[Unit]\nDescription=OpenSSH\n[Service]\nType=notify\nExecStart=/usr/sbin/sshd -D\n[Install]\nWantedBy=multi-user.target\n"),
		path.Join(vendorUnits, "chronyd.service"):     text("[Unit]\nDescription=NTP\n[Service]\nType=forking\nExecStart=/usr/sbin/chronyd\n[Install]\nWantedBy=multi-user.target\n"),
		"/usr/etc/NetworkManager/NetworkManager.conf": text("[main]\nplugins=keyfile\n"),
		"/usr/etc/chrony.conf":                        text("pool pool.example.org iburst\n"),
		"/usr/etc/hosts":                              text("127.0.0.1 localhost\n::1 localhost\n"),
	}
}

// installed is what installation and the cluster have added to the booted deployment's /etc and
// to /var, by path in the booted system.
func (n *Node) installed() map[string]inode {
	ip := n.options.Addresses[0].Addr().String()
	all := map[string]inode{
		path.Join(host.UnitDir, host.UnitKubelet): text("[Unit]\nDescription=Kubernetes node agent\nRequires=crio.service\nAfter=crio.service\n" +
			"[Service]\nType=notify\nExecStart=/usr/bin/kubelet\nRestart=always\n[Install]\nWantedBy=multi-user.target\n"),
		path.Join(host.UnitDir, host.UnitDnsmasq): text("[Unit]\nDescription=Cluster names\nBefore=kubelet.service crio.service\n" +
			"[Service]\nType=simple\nExecStart=/usr/sbin/dnsmasq -k\nRestart=always\n[Install]\nWantedBy=multi-user.target\n"),
		host.DnsmasqOverrides: text(fmt.Sprintf("SNO_CLUSTER_NAME_OVERRIDE=%s\nSNO_BASE_DOMAIN_OVERRIDE=%s\nSNO_DNSMASQ_IP_OVERRIDE=%s\n",
			clusterName, baseDomain, ip)),
		host.NodeIPHint:        text("KUBELET_NODEIP_HINT=" + n.options.Addresses[0].Masked().Addr().String() + "\n"),
		host.MachineConfig:     text(currentConfig),
		host.EtcdPodManifest:   secret(etcdPod(ip)),
		host.LBExtKubeconfig:   secret(kubeconfig("api." + clusterName + "." + baseDomain)),
		host.LocalKubeconfig:   secret(kubeconfig("localhost")),
		host.KubeletConfigJSON: secret(`{"auths":{"registry.example.org":{"auth":"c2VlZDpzZWVk"}}}` + "\n"),
		host.CLIInVar:          {mode: 0o755, data: []byte("lca-cli program\n")},
		"/etc/hostname":        text(nodeName + "\n"),

		"/etc/cni/multus/certs/multus-client-current.pem":        secret("multus certificate\n"),
		"/etc/openvswitch/.conf.db.~lock~":                       secret(""),
		"/etc/openvswitch/conf.db":                               text(n.uplinkName() + "\n"),
		"/var/lib/ovn-ic/etc/ovnnb_db.db":                        secret("ovn northbound\n"),
		"/var/lib/kubelet/pki/kubelet-client-2030-01-01.pem":     secret("kubelet client certificate\n"),
		"/var/lib/kubelet/pki/kubelet-server-2030-01-01.pem":     secret("kubelet serving certificate\n"),
		host.KubeletClientCert:                                   link("kubelet-client-2030-01-01.pem"),
		host.KubeletServingCert:                                  link("kubelet-server-2030-01-01.pem"),
		"/var/lib/containers/storage/overlay-images/images.json": secret("[]\n"),
		"/var/lib/containers/storage/overlay/layer1/diff":        secret(strings.Repeat("layer ", 100)),
		"/var/log/journal/system.journal":                        secret("journal\n"),
		"/var/lib/etcd/member/snap/db":                           secret(n.firstStore()),
	}
	for _, unit := range []string{host.UnitKubelet, host.UnitDnsmasq} {
		all[path.Join(host.UnitDir, "multi-user.target.wants", unit)] = link(path.Join(host.UnitDir, unit))
	}
	for _, unit := range []string{host.UnitCRIO, "sshd.service", "chronyd.service"} {
		all[path.Join(host.UnitDir, "multi-user.target.wants", unit)] = link(path.Join(vendorUnits, unit))
	}
	for name, p := range n.firstProfiles() {
		all[keyfilePath(name)] = secret(p.keyfile())
	}
	return all
}

func link(to string) inode { return inode{mode: fs.ModeSymlink | 0o777, link: to} }

const currentConfig = `{"kind":"MachineConfig","metadata":{"name":"rendered-master-0"},"spec":{"kernelArguments":["systemd.unified_cgroup_hierarchy=1"],` +
	`"config":{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/var/lib/kubelet/config.json","contents":{"source":"data:,"}},` +
	`{"path":"/usr/local/bin/dnsmasq_config.sh","contents":{"source":"data:,"}}]}}}}` + "\n"

func etcdPod(ip string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: etcd\n  namespace: openshift-etcd\nspec:\n  containers:\n" +
		"  - name: etcd\n    image: registry.example.org/etcd@sha256:0000000000000000000000000000000000000000000000000000000000000000\n" +
		"    env:\n    - name: ALL_ETCD_ENDPOINTS\n      value: https://" + urlHost(ip) + ":2379\n"
}

func kubeconfig(server string) string {
	return "apiVersion: v1\nkind: Config\nclusters:\n- name: cluster\n  cluster:\n    server: https://" + server + ":6443\n"
}
