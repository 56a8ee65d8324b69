package secretscan

import (
	"path"
	"strings"
)

// isRenewed says where recert renews keys and tokens: in the store, and in the folders of the node's components.
func isRenewed(p Place) bool {
	return p.Path == "" || strings.HasPrefix(p.Path, "/etc/") ||
		strings.HasPrefix(p.Path, "/var/lib/kubelet/") || strings.HasPrefix(p.Path, "/var/lib/lca/")
}

// RenewedDirs are the folders of it.
func RenewedDirs() []string { return []string{"/etc", "/var/lib/kubelet"} }

// keeping is a place that keeps a kind of find on purpose.
type keeping struct {
	// rules are the names of rules; objects and paths are as in Ruling.
	rules       []string
	object, key string
	path        string
	because     string
}

// keptPlaces lists what ships on purpose. A row needs a reason that a reader of the report understands.
func keptPlaces() []keeping {
	words := []string{ruleKeyword, ruleOpaque}
	return []keeping{
		{rules: words, object: "apiextensions.k8s.io/customresourcedefinitions/*",
			because: "the definition of a type: no value is in it"},
		{rules: words, object: "operators.coreos.com/clusterserviceversions/*/*",
			because: "the description of an operator, the same on every cluster"},
		{rules: words, object: "configmaps/openshift-marketplace/*",
			because: "the unpacked package of an operator, the same on every cluster"},
		{rules: words, object: "operators.coreos.com/*/openshift-marketplace/*",
			because: "a catalog of operators, the same on every cluster"},
		{rules: words, object: "secrets/*/builder-*",
			because: "a login of the cluster's own registry, signed again"},
		{rules: words, object: "secrets/openshift-ovn-kubernetes/*",
			because: "certificates of the cluster's network, renewed by their operator"},
		{rules: words, object: "configmaps/*/kube-root-ca.crt",
			because: "public certificates"},
		{rules: words, object: "configmaps/*/openshift-service-ca.crt",
			because: "public certificates"},
		{rules: words, path: "/etc/kubernetes/manifests/*", because: "a static pod: it names files of secrets"},
	}
}

func keptOnPurpose(rule string, p Place) (string, bool) {
	for _, k := range keptPlaces() {
		named := false
		for _, r := range k.rules {
			named = named || r == rule
		}
		if named && (Ruling{Object: k.object, Key: k.key, Path: k.path}).coversPlace(p) {
			return k.because, true
		}
	}
	return "", false
}

// placed are files that are secret, or the seed machine's alone, whatever they hold.
var placed = []struct{ pattern, because string }{
	{"/etc/shadow?*", "a copy of password hashes"},
	{"/etc/gshadow?*", "a copy of password hashes"},
	{"/etc/passwd?*", "a copy of accounts"},
	{"/etc/group?*", "a copy of accounts"},
	{"/etc/.shadow*", "a copy of password hashes"},
	{"/etc/.gshadow*", "a copy of password hashes"},
	{"/etc/.pwd.lock.*", "a copy of accounts"},
	{"/etc/security/opasswd*", "old password hashes"},
	{"/etc/ppp/*-secrets", "passwords of dial-up connections"},
	{"/etc/luks/**", "keys of encrypted disks"},
	{"/etc/luks-keys/**", "keys of encrypted disks"},
	{"/etc/cryptsetup-keys.d/**", "keys of encrypted disks"},
	{"/etc/openvswitch/system-id.conf", "the identity of the seed's switch"},
	{"/etc/nvme/hostnqn", "the identity of the seed's machine"},
	{"/etc/nvme/hostid", "the identity of the seed's machine"},
	{"/etc/rndc.key", "a key of a name server"},
	{"/etc/sysconfig/network-scripts/keys-*", "keys of a network"},
	{"/etc/samba/*.tdb", "secrets of Samba"},
	{"/etc/sssd/pki/**", "keys of sssd"},
	{"/var/lib/samba/private/**", "secrets of Samba"},
	{"/var/lib/tang/**", "keys of Tang"},
	{"/var/db/tang/**", "keys of Tang"},
	{"/var/lib/misc/*lease*", "leases of the seed's network"},
	{"/var/lib/dnsmasq/**", "leases of the seed's network"},
	{"/var/lib/dhcp/**", "leases of the seed's network"},
	{"/var/lib/dhcpd/**", "leases of the seed's network"},
	{"/var/lib/kea/**", "leases of the seed's network"},
	{"/var/lib/systemd/network/**", "leases of the seed's network"},
	{"/var/db/dhcpcd/**", "leases of the seed's network"},
	{"/var/lib/fwupd/pki/**", "the identity of the seed's machine"},
	{"/var/lib/tpm2-tss/**", "keys that belong to the seed's TPM"},
	{"/var/lib/krb5kdc/**", "keys of Kerberos"},
	{"/var/kerberos/**", "keys of Kerberos"},
	{"/var/cache/debconf/passwords.dat*", "answers about passwords"},
}

// secretByPlace says why a file must not ship, by its path alone.
func secretByPlace(file string) (string, bool) {
	for _, p := range placed {
		if matchPath(p.pattern, file) {
			return p.because, true
		}
	}
	return "", false
}

// notExamined are parts of an image that are not examined, and why.
var notExamined = []struct{ what, why string }{
	{"ostree.tgz", "the operating system as its vendor publishes it: nothing of it is written on the node"},
	{"lca-cli", "the program that makes the image"},
	{"/var/lib/etcd", "examined value by value, not as files; history and log are purged"},
	{"/var/lib/containers", "not in the image: containers come from their registries"},
	{"/var/log, /var/tmp and others", "only the folder is in the image"},
}

// packaged are folders of package managers and caches: what they hold came with packages.
var packaged = []string{"/var/lib/dpkg/", "/var/lib/rpm/", "/var/lib/apt/", "/var/cache/", "/var/lib/selinux/",
	"/var/lib/dnf/", "/var/lib/alternatives/", "/var/lib/ucf/", "/var/lib/pam/"}

// goesByWords reports whether the rule about key words applies to a file: it is about configurations. In scripts and in what packages
// brought, names of secrets stand beside variables and texts.
func goesByWords(file, content string) bool {
	for _, p := range packaged {
		if strings.HasPrefix(file, p) {
			return false
		}
	}
	switch path.Ext(file) {
	case ".md", ".html", ".css", ".js", ".py", ".pyc", ".sh", ".go", ".c", ".h", ".te", ".cil", ".pp", ".rules",
		".po", ".mo", ".svg", ".service", ".crt":
		return false
	}
	return !strings.HasPrefix(content, "#!")
}
