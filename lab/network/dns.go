package network

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// startDNS runs one dnsmasq for all DNS addresses of the LAN, unless it runs already. It answers for whatever addresses the
// LAN has at the moment, so a dropped address is a dead server. It refuses what is not below its domains, of which the
// second is the cluster's.
func (n Network) startDNS(ctx context.Context) error {
	if n.dnsPID() > 0 {
		return nil
	}
	hosts := filepath.Join(n.Dir, "lan-hosts")
	if err := os.WriteFile(hosts, []byte(hostsFile()), 0o644); err != nil {
		return fmt.Errorf("write the LAN's names: %w", err)
	}
	return run(ctx, "ip", "netns", "exec", n.LAN(), "dnsmasq", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
		"--addn-hosts="+hosts, "--local=/example/example.com/", "--pid-file="+n.dnsPIDFile(), "--user=root",
		"--log-queries", "--log-facility="+filepath.Join(n.Dir, "lan-dns.log"))
}

func (n Network) stopDNS() {
	if pid := n.dnsPID(); pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
	_ = os.Remove(n.dnsPIDFile())
}

// dnsPID is the process of our own dnsmasq, 0 when it does not run. A recycled process id is told by its command line.
func (n Network) dnsPID() int {
	text, err := os.ReadFile(n.dnsPIDFile())
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.Contains(string(cmdline), n.dnsPIDFile()) {
		return 0
	}
	return pid
}

func (n Network) dnsPIDFile() string { return filepath.Join(n.Dir, "lan-dns.pid") }

func hostsFile() string {
	var text strings.Builder
	table := names()
	for _, name := range slices.Sorted(maps.Keys(table)) {
		for _, address := range table[name] {
			fmt.Fprintf(&text, "%s %s\n", address, name)
		}
	}
	return text.String()
}
