// Package audit is the consistency checker: it compares what is declared, what is
// claimed, what was allocated and what is locked, and explains every place where they
// disagree, and what to do about it. It changes nothing.
//
// kubectl-lca's "ipam fsck" calls it on files and on a cluster. It imports the arithmetic
// only; its callers turn their own objects into Facts.
package audit

import (
	"net/netip"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// Facts are the records, as they were found.
type Facts struct {
	Pools []ipam.Spec
	// Refused says, by name, of pools that may not use their network, why.
	Refused map[string]error
	// Leased is what the cluster leases itself, each as a DHCP range of its network.
	Leased    []ipam.Spec
	Claims    []Claim
	Addresses []Address
	Locks     []Lock
	// Locked says that locks were looked for; records from before there were any have none.
	Locked bool
	Leases []Leased
	Now    time.Time
}

// Claim is a claim of any kind. Name is unique among all kinds: "IPClaim ns/name".
type Claim struct {
	Name, Pool string
	UID        string // "" where it is not known
	// Address is the address record its status points to, "" while there is none.
	Address string
}

// Address is an address record: it says that a claim was given an address.
type Address struct {
	Name, Pool, Claim string
	Address           netip.Addr
}

// Lock keeps an address of a network for one holder.
type Lock struct {
	Name, Network, Pool string
	Address             netip.Addr
	State               State
	Claim, ClaimUID     string    // of a held one
	Until               time.Time // of one in quarantine
}

// State is what a lock is for.
type State string

// The states.
const (
	Held        State = "Held"
	Quarantined State = "Quarantined"
	Reserved    State = "Reserved"
)

// Leased is an address that a DHCP server gave away.
type Leased struct {
	Network, Client string
	Address         netip.Addr
}

// Problem is a kind of finding.
type Problem string

// The problems, the worst first.
const (
	Duplicate Problem = "Duplicate" // one address, two holders
	Conflict  Problem = "Conflict"  // pools or DHCP in each other's way
	Taken     Problem = "Taken"     // a static address that DHCP has leased
	Unlocked  Problem = "Unlocked"  // allocated, but not kept from others
	Lost      Problem = "Lost"      // claimed, but the record is gone
	Leak      Problem = "Leak"      // kept for no claim
	Outside   Problem = "Outside"   // not, or no longer, an address of its pool
)

// Finding is one disagreement.
type Finding struct {
	Problem Problem `json:"problem"`
	Network string  `json:"network,omitempty"`
	Pool    string  `json:"pool,omitempty"`
	Address string  `json:"address,omitempty"`
	// Objects are the records it is about.
	Objects []string `json:"objects,omitempty"`
	// Text explains it in a sentence, Remedy says what to do.
	Text   string `json:"text"`
	Remedy string `json:"remedy"`
}
