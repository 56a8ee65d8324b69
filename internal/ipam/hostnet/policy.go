package hostnet

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// hostnameLabel selects one node; kubelet sets it.
const hostnameLabel = "kubernetes.io/hostname"

// Policy is the host as a NodeNetworkConfigurationPolicy of its own: the per-node values
// of a network in the form a cluster takes them.
func (h Host) Policy() ([]byte, error) {
	d, err := h.State()
	if err != nil {
		return nil, err
	}
	out, err := yaml.Marshal(map[string]any{
		"apiVersion": "nmstate.io/v1",
		"kind":       "NodeNetworkConfigurationPolicy",
		"metadata":   map[string]any{"name": "secondary-networks-" + h.Name},
		"spec": map[string]any{
			"nodeSelector": map[string]string{hostnameLabel: h.Name},
			"desiredState": d,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("host %s: encode its network policy: %w", h.Name, err)
	}
	return out, nil
}
