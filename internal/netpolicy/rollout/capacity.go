package rollout

import "k8s.io/apimachinery/pkg/util/intstr"

// defaultMaxUnavailable is kubernetes-nmstate's.
const defaultMaxUnavailable = "50%"

// MaxUnavailable is how many of the nodes may be changing or failed at a time: a percentage is rounded up, and it is at least one. A
// value that cannot be read counts as the default.
func MaxUnavailable(value *intstr.IntOrString, nodes int) int {
	fallback := intstr.FromString(defaultMaxUnavailable)
	if value == nil {
		value = &fallback
	}
	if value.Type == intstr.String {
		if number := intstr.Parse(value.StrVal); number.Type == intstr.Int {
			value = &number
		}
	}
	limit, err := intstr.GetScaledValueFromIntOrPercent(value, nodes, true)
	if err != nil || limit < 0 {
		limit, _ = intstr.GetScaledValueFromIntOrPercent(&fallback, nodes, true)
	}
	return max(limit, 1)
}
