// Package ipconfig is the domain of changing a single node's address, gateway,
// DNS and VLAN: the stage rules, the validation of a request, and the flows
// that lca-cli carries out on the node.
//
//	pre-pivot (old stateroot)      post-pivot (new stateroot)   rollback (new stateroot)
//	collect-inputs                 check-seal  <- committed     stop-post-pivot
//	clone-stateroot                apply-network                collect-evidence
//	copy-while-running             recert                       hand-back-journal
//	quiesce                        start-kubelet                flip-back  <- committed
//	copy-final                     wait-for-api                 wipe-secrets
//	furnish                        prove-network                reboot
//	install-units                  wait-for-node
//	arm-watchdog                   run-probes
//	seal                           wipe-secrets
//	wipe-secrets
//	flip-default  <- committed
//	reboot
//
// The operator imports stages, validation, request and progress; lca-cli imports the
// flows. The package acts through the ports of internal/host and internal/flow
// only: it imports no adapter, no Kubernetes client, no controller.
//
// Truth: the user owns spec, the operator writes the request files once, lca-cli alone
// writes the journal, and status is a projection of journal and observation.
package ipconfig
