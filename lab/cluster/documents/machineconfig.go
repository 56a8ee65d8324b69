package documents

import (
	"crypto/md5" //nolint:gosec // names are hashes of this kind
	"encoding/base64"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

// MachineConfigs are the two MachineConfigs of the node and the rendered one in the form the daemon keeps on disk.
type MachineConfigs struct {
	Dnsmasq, Master *unstructured.Unstructured
	Rendered        []byte // currentconfig: the rendered MachineConfig as JSON
}

const dnsmasqMachineConfig = "50-master-dnsmasq-configuration"

// NewMachineConfigs makes the assisted installer's dnsmasq MachineConfig and a rendered one that contains it. Its script falls
// back to the address of installation day, which an address change leaves as it is: the override file wins.
func NewMachineConfigs(s site.Site) (MachineConfigs, error) {
	text, err := templates.ReadFile("templates/dnsmasq_config.sh")
	if err != nil {
		return MachineConfigs{}, fmt.Errorf("read the dnsmasq script: %w", err)
	}
	script, err := Render("dnsmasq_config.sh", string(text), NewView(s))
	if err != nil {
		return MachineConfigs{}, err
	}
	dnsmasq := []any{
		ignitionFile("/usr/local/bin/dnsmasq_config.sh", 0o755, script),
		ignitionFile("/etc/NetworkManager/conf.d/single-node.conf", 0o644, "[main]\nrc-manager=unmanaged\n"),
	}
	units := []any{map[string]any{"name": "dnsmasq.service", "enabled": true,
		"contents": "[Unit]\nBefore=kubelet.service\n[Service]\nExecStartPre=/usr/local/bin/dnsmasq_config.sh\nExecStart=/usr/sbin/dnsmasq -k\nRestart=always\n[Install]\nWantedBy=multi-user.target\n"}}
	all := append(dnsmasq, ignitionFile("/var/lib/ovn-ic/etc/enable_dynamic_cpu_affinity", 0o644, ""))
	out := MachineConfigs{
		Dnsmasq: machineConfig(dnsmasqMachineConfig, dnsmasq, units, nil),
		Master:  machineConfig(renderedName(script), all, units, []any{"systemd.unified_cgroup_hierarchy=1", "psi=0"}),
	}
	out.Dnsmasq.SetLabels(map[string]string{"machineconfiguration.openshift.io/role": "master"})
	out.Master.SetAnnotations(map[string]string{"machineconfiguration.openshift.io/generated-by-controller-version": "lab"})
	if out.Rendered, err = json.Marshal(out.Master); err != nil {
		return MachineConfigs{}, fmt.Errorf("encode the rendered MachineConfig: %w", err)
	}
	return out, nil
}

func machineConfig(name string, files, units, kargs []any) *unstructured.Unstructured {
	spec := map[string]any{
		"baseOSExtensionsContainerImage": "", "extensions": []any{}, "fips": false, "kernelType": "default", "osImageURL": "",
		"kernelArguments": kargs,
		"config": map[string]any{
			"ignition": map[string]any{"version": "3.4.0"},
			"storage":  map[string]any{"files": files},
			"systemd":  map[string]any{"units": units},
		},
	}
	if kargs == nil {
		spec["kernelArguments"] = []any{}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
		"metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

func ignitionFile(path string, mode int64, text string) map[string]any {
	return map[string]any{
		"path": path, "mode": mode, "overwrite": true,
		"contents": map[string]any{"source": "data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte(text))},
	}
}

// renderedName imitates the controller's: a hash of the content, so that another content has another name.
func renderedName(content string) string {
	return fmt.Sprintf("rendered-master-%x", md5.Sum([]byte(content))) //nolint:gosec // a name
}
