package v1alpha1

// ConditionReady is the one condition of pools and of claims.
const ConditionReady = "Ready"

// Reasons of a pool's condition Ready.
const (
	ReasonAvailable  = "Available"         // addresses can be allocated
	ReasonExhausted  = "Exhausted"         // all are held or kept back
	ReasonInvalid    = "Invalid"           // the spec contradicts itself
	ReasonOverlap    = "Overlap"           // another pool of the network has some of the addresses
	ReasonNotGranted = "NetworkNotGranted" // the network belongs to another namespace
	ReasonOutOfRange = "OutOfRange"        // addresses are held that the pool has no longer
	ReasonPaused     = "Paused"            // the pool or its Cluster is paused
	ReasonDeleting   = "Deleting"          // no more are allocated; waits for those that are held
)

// Reasons of a claim's condition Ready. The first four are those of the Cluster API's contract.
const (
	ReasonAllocated        = "Allocated"
	ReasonAllocationFailed = "AllocationFailed"
	ReasonPoolNotReady     = "PoolNotReady"
	ReasonPoolExhausted    = "PoolExhausted"
	ReasonPoolNotFound     = "PoolNotFound"
	ReasonAddressTaken     = "RequestedAddressTaken"
	ReasonAddressOutside   = "RequestedAddressNotInPool"
	ReasonRequestsDisagree = "RequestsDisagree"
)
