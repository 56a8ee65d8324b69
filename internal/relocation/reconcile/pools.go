package reconcile

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

var machineConfigPool = Ref{Group: "machineconfiguration.openshift.io", Version: "v1", Kind: "MachineConfigPool"}

// pausedPools says which MachineConfigs are not taken in because an administrator has paused their pool; empty for none. Health
// does not judge what a paused pool lacks.
func (v *partContext) pausedPools(changes []Change) (string, error) {
	var configs []Change
	for _, c := range changes {
		if c.Ref.Group == machineConfigPool.Group && c.Ref.Kind == "MachineConfig" {
			configs = append(configs, c)
		}
	}
	if len(configs) == 0 {
		return "", nil
	}
	pools := &unstructured.UnstructuredList{}
	pools.SetGroupVersionKind(machineConfigPool.gvk())
	if err := v.Client.List(v.ctx, pools); notServed(err) {
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("list machine config pools: %w", err)
	}
	var held []string
	for i := range pools.Items {
		names, err := heldBy(&pools.Items[i], configs)
		if err != nil {
			return "", err
		}
		if len(names) > 0 {
			held = append(held, fmt.Sprintf("machine config pool %s is paused and does not take %s in: unpause it",
				pools.Items[i].GetName(), strings.Join(names, ", ")))
		}
	}
	return strings.Join(held, "; "), nil
}

// heldBy names the MachineConfigs of a pool that is paused.
func heldBy(pool *unstructured.Unstructured, configs []Change) (names []string, err error) {
	if paused, _, _ := unstructured.NestedBool(pool.Object, "spec", "paused"); !paused {
		return nil, nil
	}
	raw, _, _ := unstructured.NestedMap(pool.Object, "spec", "machineConfigSelector")
	want := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, want); err != nil {
		return nil, fmt.Errorf("read the machineConfigSelector of pool %s: %w", pool.GetName(), err)
	}
	selector, err := metav1.LabelSelectorAsSelector(want)
	if err != nil {
		return nil, fmt.Errorf("read the machineConfigSelector of pool %s: %w", pool.GetName(), err)
	}
	for _, c := range configs {
		has := c.Labels
		if c.Manifest != nil {
			has = c.Manifest.GetLabels()
		}
		if selector.Matches(labels.Set(has)) {
			names = append(names, c.Ref.Name)
		}
	}
	return names, nil
}
