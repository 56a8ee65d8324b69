package dnsmasq

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// configName is that of the installer's own MachineConfig, which this one overrides.
const configName = "50-master-dnsmasq-configuration"

// MachineConfig is the whole object.
func (s Site) MachineConfig() string {
	return "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  labels:\n" +
		"    machineconfiguration.openshift.io/role: master\n  name: " + configName + "\n" + s.renderSpec()
}

// Policy is the section of a policy template; wave adds the annotation of that name, 0 none.
func (s Site) Policy(wave int) string {
	head := `# Override 50-master-dnsmasq-configuration
- fileName: MachineConfigGeneric.yaml
  policyName: "config-policy"
  complianceType: mustonlyhave # This is to update array entry as opposed to appending a new entry.
  metadata:
    labels:
      machineconfiguration.openshift.io/role: master
    name: ` + configName + "\n"
	if wave > 0 {
		head += fmt.Sprintf("    annotations:\n      ran.openshift.io/ztp-deploy-wave: \"%d\"\n", wave)
	}
	return indentLines(head+indentLines(s.renderSpec(), 2), 4)
}

// renderSpec is that of the MachineConfig.
func (s Site) renderSpec() string {
	var b strings.Builder
	b.WriteString("spec:\n  config:\n    ignition:\n      version: 3.1.0\n    storage:\n      files:\n")
	for _, f := range []struct {
		path, text string
		mode       int
	}{
		{"/usr/local/bin/dnsmasq_config.sh", s.configScript(), 365},
		{"/etc/NetworkManager/dispatcher.d/forcedns", s.dispatcherScript(), 365},
		{"/etc/NetworkManager/conf.d/single-node.conf", noResolver, 420},
	} {
		fmt.Fprintf(&b, "        - contents:\n            source: data:text/plain;charset=utf-8;base64,%s\n"+
			"          mode: %d\n          path: %s\n          overwrite: true\n",
			base64.StdEncoding.EncodeToString([]byte(f.text)), f.mode, f.path)
	}
	b.WriteString("    systemd:\n      units:\n        - name: dnsmasq.service\n          enabled: true\n          contents: |\n")
	b.WriteString(indentLines(unit, 12))
	return b.String()
}

// indentLines moves every line that is not empty to the right.
func indentLines(text string, by int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(strings.Repeat(" ", by))
		}
		b.WriteString(line)
	}
	return b.String()
}
