package v1beta1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RefusedAnnotation of a NodeNetworkState says for which policies the API server refuses what the node writes of their enactments, and
// why: such a policy has no enactment that could say so. The node's agent writes it; the operator reports it as the policy's condition.
const RefusedAnnotation = "lca.openshift.io/refused-enactments"

// FormatRefusals is the value of RefusedAnnotation: messages by the Grant of their policy, so that none counts for a later generation.
// It is empty for none.
func FormatRefusals(messages map[string]string) string {
	if len(messages) == 0 {
		return ""
	}
	data, err := json.Marshal(messages)
	if err != nil {
		return "" // strings always encode
	}
	return string(data)
}

// RefusalOf is why the node of a NodeNetworkState cannot report on a policy as it is now; empty where nothing was refused.
func RefusalOf(state, policy metav1.Object) string {
	text := state.GetAnnotations()[RefusedAnnotation]
	if text == "" {
		return ""
	}
	var messages map[string]string
	if json.Unmarshal([]byte(text), &messages) != nil {
		return "" // not the agent's
	}
	return messages[Grant(policy)]
}
