package preflight

import (
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Facts is what is known when an image is asked for.
type Facts struct {
	// Unknown says, by the name of the check, what could not be found out and why.
	Unknown map[string]string

	// Cluster is what the API says.
	Cluster cluster.SeedFacts

	// HubGiven: the Secret has a kubeconfig of the hub. HubProblem says why it cannot be used, HubUnreachable why the hub
	// does not answer; else Hub is what the hub says.
	HubGiven                   bool
	HubProblem, HubUnreachable string
	Hub                        cluster.HubFacts

	// SecretFound: Secret seedgen exists. Auth is its auth.json; it is a secret and never printed.
	SecretFound bool
	Auth        []byte
	// SigningProblem says why the image cannot be signed as requested; empty where it can, or need not.
	SigningProblem string

	// SetDefault is why the node cannot choose its next boot; nil when it can.
	SetDefault error
	// ContainerStorage is what is mounted at /var/lib/containers; empty: nothing of its own. ContainerStorageOwn: it is a
	// part of the stateroot, which no other stateroot shares.
	ContainerStorage    string
	ContainerStorageOwn bool
	// DnsmasqScript is the text of the script that configures dnsmasq; empty: there is none.
	DnsmasqScript string
	// PullSecret is kubelet's; it is a secret and never printed.
	PullSecret []byte
	// FIPS is how the kernel runs.
	FIPS bool
	// CPUs, Cores and Sockets count those of the machine.
	CPUs, Cores, Sockets int
	// Need and Free compare what the copy and the work on it take with the disk.
	Need, Free host.Size
	// NodeBusy is the operation that holds the node; empty for none.
	NodeBusy string
}
