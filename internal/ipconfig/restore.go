package ipconfig

import (
	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
)

// Object is an IPConfig that asks for what the request files hold. It is what a lost object is restored from where its
// export is lost too: every default is spelled out, and stage and conditions are the caller's.
func (r Request) Object(auto AutoRollback, post PostPivotConfig) *lcav1.IPConfig {
	ipc := &lcav1.IPConfig{Spec: lcav1.IPConfigSpec{Stage: lcav1.StageConfig}}
	ipc.Name = lcav1.IPConfigName
	ipc.Annotations = map[string]string{}
	if r.IPv4Address != "" || r.IPv6Address != "" { // otherwise the request file itself is lost
		ipc.Spec = r.Spec()
	}
	if auto.MonitorTimeout > 0 {
		ipc.Spec.AutoRollbackOnFailure = &lcav1.AutoRollbackOnFailure{InitMonitorTimeoutSeconds: int32(auto.MonitorTimeout)}
	}
	for annotation, enabled := range map[string]bool{
		lcav1.AutoRollbackOnFailureInitMonitorAnnotation: auto.MonitorEnabled,
		lcav1.AutoRollbackOnFailureIPConfigRunAnnotation: auto.RunEnabled(),
	} {
		if !enabled {
			ipc.Annotations[annotation] = lcav1.AutoRollbackDisableValue
		}
	}
	if auto.EnabledComponents[ComponentHealth] {
		ipc.Annotations[lcav1.AutoRollbackOnFailureHealthAnnotation] = lcav1.AutoRollbackEnableValue
	}
	for annotation, value := range map[string]string{
		lcav1.RecertImageAnnotation: post.RecertImage, lcav1.RecertPullSecretAnnotation: r.PullSecretRefName,
	} {
		if value != "" {
			ipc.Annotations[annotation] = value
		}
	}
	// The API server compares the families that a spec names with those that status shows.
	if v4 := ipc.Spec.IPv4; v4 != nil {
		ipc.Status.IPv4 = &lcav1.IPStatus{Address: v4.Address, MachineNetwork: v4.MachineNetwork, Gateway: v4.Gateway}
	}
	if v6 := ipc.Spec.IPv6; v6 != nil {
		ipc.Status.IPv6 = &lcav1.IPStatus{Address: v6.Address, MachineNetwork: v6.MachineNetwork, Gateway: v6.Gateway}
	}
	return ipc
}

// probeSpecs is the inverse of probesOf.
func probeSpecs(probes []bringup.Probe) (out []lcav1.Probe) {
	for _, p := range probes {
		spec := lcav1.Probe{Name: p.Name, Type: lcav1.ProbeType(p.Type), Target: p.Target, TimeoutSeconds: int32(p.TimeoutSeconds)}
		if p.CABundle != "" || p.SkipVerify || len(p.StatusCodes) > 0 {
			spec.HTTP = &lcav1.HTTPProbe{CABundle: p.CABundle, InsecureSkipVerify: p.SkipVerify}
			for _, code := range p.StatusCodes {
				spec.HTTP.StatusCodes = append(spec.HTTP.StatusCodes, int32(code))
			}
		}
		out = append(out, spec)
	}
	return out
}
