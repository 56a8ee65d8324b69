// Package hostnet gives each machine the addresses of its secondary networks, and an Ignition config of its
// own that sets them.
//
// An owner is a Machine of OpenShift or of the Cluster API, a Metal3Machine, or a BareMetalHost. Its annotation
// ipam.lca.openshift.io/networks says which interface is on which pool:
//
//	ipam.lca.openshift.io/networks: ens4=storage,ens5=backup4+backup6
//
// For each pool there is an IPClaim that the owner controls. A finalizer on the claim keeps the address until no
// BareMetalHost serves the owner any more. What is paused is left alone. Once all claims have their addresses, the Secret
// <owner>-host-user-data is written: the base config of the role with the addresses merged in, and the same as
// networkData. It does not change any more once the host is being provisioned.
//
// internal/controller sets it up. It knows the controller that serves claims only through their kinds.
package hostnet
