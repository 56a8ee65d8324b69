package seed

import (
	"cmp"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

const hostnameFile = "/etc/hostname"

// CompleteFromNode fills what is empty from files of the node: without the API they are all that is known.
func CompleteFromNode(c ClusterInfo, files host.Files) ClusterInfo {
	names := readAssignments(files, host.DnsmasqOverrides)
	c.ClusterName = cmp.Or(c.ClusterName, names["SNO_CLUSTER_NAME_OVERRIDE"])
	c.BaseDomain = cmp.Or(c.BaseDomain, names["SNO_BASE_DOMAIN_OVERRIDE"])
	if ip := names["SNO_DNSMASQ_IP_OVERRIDE"]; len(c.NodeIPs) == 0 && ip != "" {
		c.NodeIPs = []string{ip}
	}
	if c.NodeIP == "" && len(c.NodeIPs) > 0 {
		c.NodeIP = c.NodeIPs[0]
	}
	c.SNOHostname = cmp.Or(c.SNOHostname, readLine(files, hostnameFile))
	c.OCPVersion = cmp.Or(c.OCPVersion, readAssignments(files, "/etc/os-release")["OPENSHIFT_VERSION"])
	c.HasFIPS = c.HasFIPS || readLine(files, fipsEnabled) == "1"
	c.ContainerStorageTarget = cmp.Or(c.ContainerStorageTarget, storageSource(files))
	return c
}

// readAssignments are the lines NAME=VALUE of a file, without quotes.
func readAssignments(files host.Files, file string) map[string]string {
	out := map[string]string{}
	data, err := files.Read(file)
	if err != nil {
		return out
	}
	for text := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "export "), "=")
		if ok {
			out[strings.TrimSpace(name)] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return out
}

// storageSource is empty where the mount table cannot be read: the preflight checks say so.
func storageSource(files host.Files) string {
	s, err := ReadContainerStorage(files)
	if err != nil {
		return ""
	}
	return s.Source
}
