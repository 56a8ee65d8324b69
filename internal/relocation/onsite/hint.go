package onsite

import (
	"net/netip"
	"strings"
)

// isHint says that the variable names the network of the node's own address to nodeip-configuration. NODEIP_HINT wins where it is set.
func isHint(variable string) bool {
	return variable == "NODEIP_HINT" || variable == "KUBELET_NODEIP_HINT"
}

// replaceHint has each hint in an environment file (systemd.exec(5)) name the site's network of its family.
func replaceHint(text string, networks []netip.Prefix) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, "=")
		old, err := netip.ParseAddr(strings.Trim(strings.TrimSpace(value), `"'`))
		if key = strings.TrimSpace(key); isHint(key) && err == nil {
			for _, n := range networks {
				if n.Addr().Is4() == old.Is4() {
					line = key + "=" + n.Masked().Addr().String() + "\n"
				}
			}
		}
		out.WriteString(line)
	}
	return out.String()
}
