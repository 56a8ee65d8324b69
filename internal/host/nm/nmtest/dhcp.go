package nmtest

import (
	"os/exec"
	"path/filepath"
	"strconv"
)

// ServeDHCP runs a DHCP server at the far end of links until the test ends. It leases one address in each of the ranges,
// "192.0.2.100,192.0.2.100,255.255.255.0" for example, and names itself as the router in the first one; the far ends need addresses
// in them. The test is skipped where there is no such server.
func (n *Node) ServeDHCP(links, ranges []string) {
	n.t.Helper()
	program, err := exec.LookPath("dnsmasq")
	if err != nil {
		n.t.Skip("reason: dnsmasq, which serves DHCP in this test, is not installed")
	}
	n.t.Attr("uses", "dnsmasq")
	args := []string{"netns", "exec", peer, program, "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--bind-dynamic",
		"--pid-file=", "--leasefile-ro", "--dhcp-authoritative", "--no-ping", "--user=root",
		"--log-facility=" + filepath.Join(n.t.TempDir(), "dnsmasq.log")}
	for _, l := range links {
		args = append(args, "--interface="+l+"p")
	}
	for k, r := range ranges {
		tag := "range" + strconv.Itoa(k)
		args = append(args, "--dhcp-range=set:"+tag+","+r+",1h")
		if k > 0 {
			args = append(args, "--dhcp-option=tag:"+tag+",option:router")
		}
	}
	n.startBackground("ip", args...)
}
