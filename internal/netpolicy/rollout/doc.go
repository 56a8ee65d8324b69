// Package rollout is the arithmetic of rolling a network policy out: which nodes may start now, which never will in this generation,
// and what the roll-out waits for. It is pure: the operator role observes and writes, this package decides.
//
// # The contract between operator and node
//
//  1. The agent of a node creates the enactment NODE.POLICY of each policy that selects its node: owner is the Node, labels are
//     nmstate.io/policy and nmstate.io/node. It sets status.policyGeneration to the policy's generation, publishes the document and the
//     plan, and the conditions Pending.
//  2. The operator grants: it writes the annotation lca.openshift.io/granted-generation, whose value v1beta1.Grant computes of the
//     policy. A node that is not granted changes nothing. The admission policy of the node role refuses a node that writes the
//     annotation, and an edit of the policy, or another policy of the same name, makes it void. It survives restarts of both.
//  3. The node starts once v1beta1.Granted holds: Progressing, then Available or, after its retries, Failing. Under the same grant it
//     may apply again, as when it boots with an ephemeral policy or corrects drift.
//  4. Aborted is written by the operator, into the enactments of nodes that were not granted. The node leaves it alone until the
//     generation changes.
//  5. A policy with onDelete: Revert has a finalizer. Its deletion is a new generation: the node publishes Pending for it, is granted,
//     applies status.revertState and deletes its enactment. A node that has nothing to revert deletes the enactment at once. Without
//     the finalizer the node deletes its enactment when the policy is gone; the operator deletes those of nodes that are not there.
//  6. While kubernetes-nmstate's handler is installed the operator grants nothing, and the node's agent writes nothing.
//  7. A node that is Available in the present generation without a grant, as kubernetes-nmstate leaves it behind, is adopted: it is
//     granted without using up capacity, and the node finds nothing to change.
//  8. Where the operator is absent nothing is granted: the enactments stay Pending, and their message says so.
//
// Called by internal/controller/netpolicy. It must not import a client of Kubernetes, a controller or the host.
package rollout
