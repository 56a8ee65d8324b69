package v1beta1

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GrantAnnotation of an enactment is the operator's permission for the node to start, as Grant formats it. The operator alone may
// write it: the admission policy of the node role refuses a node that adds, changes or removes it.
const GrantAnnotation = "lca.openshift.io/granted-generation"

// ValuesAnnotation of an enactment holds, as a JSON object of strings, the template values that the operator resolved for the node:
// addresses that it claimed from pools. It is written before the grant, and guarded as the grant is.
const ValuesAnnotation = "lca.openshift.io/template-values"

// Annotations of an enactment of a policy for machine config pools. They tell how far the node is with the pool's document, as the
// annotations of the machine-config daemon on a Node report MachineConfigs. The operator writes them.
const (
	// CurrentNetworkAnnotation is the hash of the document that the node has.
	CurrentNetworkAnnotation = "lca.openshift.io/currentNetworkState"
	// DesiredNetworkAnnotation is the hash of the document that the node is to have.
	DesiredNetworkAnnotation = "lca.openshift.io/desiredNetworkState"
	// NetworkStateAnnotation is Working, Done, Degraded or Unreconcilable.
	NetworkStateAnnotation = "lca.openshift.io/networkState"
	// NetworkReasonAnnotation says why the node is Degraded or Unreconcilable.
	NetworkReasonAnnotation = "lca.openshift.io/networkStateReason"
)

// EnactmentName is the name of a policy's enactment on a node.
func EnactmentName(node, policy string) string { return node + "." + policy }

// Grant is the value of GrantAnnotation for a policy as it is now: its generation and its UID, so that neither an edit nor another
// policy of the same name starts under an old grant. The deletion of a policy is a generation too.
func Grant(policy metav1.Object) string {
	return strconv.FormatInt(policy.GetGeneration(), 10) + "/" + string(policy.GetUID())
}

// Granted reports whether the node may apply the policy as it is now or, if the policy is being deleted, revert it.
func Granted(enactment, policy metav1.Object) bool {
	return enactment.GetAnnotations()[GrantAnnotation] == Grant(policy)
}
