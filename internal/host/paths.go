package host

import "path/filepath"

// Paths on a node. They are contracts with the documents this product
// implements, with OpenShift, or with units already installed: none may change
// without a migration.
const (
	// StateDir is the product's own directory in each stateroot's /var.
	StateDir = "/var/lib/lca"
	// Workspace carries data across the reboot; emptied when the operation ends.
	Workspace = StateDir + "/workspace"

	RecertConfig       = Workspace + "/recert_config.json"
	RecertPullSecret   = Workspace + "/recert-pull-secret.json"
	RecertContainerLog = Workspace + "/recert-container.log"
	RecertSummary      = "/var/tmp/recert-summary.yaml"

	CLI = "/usr/local/bin/lca-cli"
	// CLIInVar is where CLI really lives: /usr/local is a link into /var on ostree hosts.
	CLIInVar = "/var/usrlocal/bin/lca-cli"

	SysrootDir    = "/sysroot"
	DeployDir     = "/ostree/deploy"
	BootEntries   = "/boot/loader/entries"
	BootKernels   = "/boot/ostree" // a folder STATEROOT-CHECKSUM for each kernel and initramfs
	KernelCmdline = "/proc/cmdline"
	BootIDFile    = "/proc/sys/kernel/random/boot_id"

	UnitDir          = "/etc/systemd/system"
	DnsmasqOverrides = "/etc/default/sno_dnsmasq_configuration_overrides"
	// ProxyEnv is the environment by which kubelet and crio use the cluster's proxy.
	ProxyEnv = "/etc/mco/proxy.env"
	// DnsmasqSite has what the node's own DNS server answers beside the cluster's own names.
	DnsmasqSite        = "/etc/dnsmasq.d/lca-site.conf"
	DnsmasqFilter      = "/etc/dnsmasq.d/single-node-filter.conf"
	ResolvConf         = "/etc/resolv.conf"
	HostnameFile       = "/etc/hostname"
	NodeIPHint         = "/etc/default/nodeip-configuration"
	PrimaryIP          = "/run/nodeip-configuration/primary-ip"
	NMConnections      = "/etc/NetworkManager/system-connections"
	MachineConfig      = "/etc/machine-config-daemon/currentconfig"
	NMStateApplied     = "/etc/nmstate/openshift/applied"
	OVNDefaultBridge   = "/etc/ovnk/default_bridge"
	KubeletConfigJSON  = "/var/lib/kubelet/config.json"
	KubeletClientCert  = "/var/lib/kubelet/pki/kubelet-client-current.pem"
	KubeletServingCert = "/var/lib/kubelet/pki/kubelet-server-current.pem"
	EtcdData           = "/var/lib/etcd"
	EtcdPodManifest    = "/etc/kubernetes/manifests/etcd-pod.yaml"
	nodeKubeconfigs    = APIServerSecrets + "/node-kubeconfigs"
	// APIServerSecrets has a folder for each of the API server's own certificates.
	APIServerSecrets = "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets"
	LBExtKubeconfig  = nodeKubeconfigs + "/lb-ext.kubeconfig"
	LocalKubeconfig  = nodeKubeconfigs + "/localhost.kubeconfig"
)

// Units the product creates or drives.
const (
	UnitKubelet = "kubelet.service"
	UnitCRIO    = "crio.service"
	UnitDnsmasq = "dnsmasq.service"
	// UnitNetwork and UnitSSH are the node's NetworkManager and its SSH server.
	UnitNetwork = "NetworkManager.service"
	// UnitOVSConfiguration makes br-ex at boot.
	UnitOVSConfiguration = "ovs-configuration.service"
	UnitSSH              = "sshd.service"
	UnitReboot           = "lifecycle-agent-reboot.service"
)

// BridgeExternal is the Open vSwitch bridge that carries the node's own address.
const BridgeExternal = "br-ex"

// StaterootDir is the directory of a stateroot, as seen from the booted system.
func StaterootDir(stateroot string) string { return filepath.Join(DeployDir, stateroot) }

// InVar maps an absolute path below /var into the given stateroot's own /var.
func InVar(stateroot, path string) string { return filepath.Join(StaterootDir(stateroot), path) }

// InDeployment maps an absolute path (below /etc, say) into a deployment's root.
func (d Deployment) InDeployment(path string) string { return filepath.Join(d.Dir(), path) }
