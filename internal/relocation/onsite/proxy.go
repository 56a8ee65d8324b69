package onsite

import (
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// recertProxy has recert write the proxy into the Proxy object with its status, the node's environment and the machine's configuration,
// before kubelet starts: the node neither uses the former proxy nor reboots for the new one. That needs a cluster that was installed
// behind a proxy for http and https, and all of its status. Else the step after the API answers writes the object, and the cluster's
// operators do the rest.
func (p *Reconfiguration) recertProxy(c siteconfig.SiteConfig) string {
	if c.Proxy == nil || c.StatusProxy == nil {
		return ""
	}
	env, err := p.Files.Read(host.ProxyEnv)
	if err != nil {
		return "" // no such file: the cluster has no proxy
	}
	have := proxyVariables(string(env))
	spec, status := c.Proxy, c.StatusProxy
	for _, needed := range []string{have["HTTP_PROXY"], have["HTTPS_PROXY"], have["NO_PROXY"],
		spec.HTTPProxy.Reveal(), spec.HTTPSProxy.Reveal(), status.HTTPProxy.Reveal(), status.HTTPSProxy.Reveal(), status.NoProxy} {
		if needed == "" || strings.Contains(needed, "|") {
			return ""
		}
	}
	// The spec may be without noProxy, which recert cannot add; the step after the API answers does.
	return strings.Join([]string{spec.HTTPProxy.Reveal(), spec.HTTPSProxy.Reveal(), "",
		status.HTTPProxy.Reveal(), status.HTTPSProxy.Reveal(), status.NoProxy}, "|")
}

// proxyVariables reads an environment file (systemd.exec(5)).
func proxyVariables(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		out[key] = strings.Trim(value, `"'`)
	}
	return out
}
