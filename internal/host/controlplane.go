package host

import (
	"context"
	"errors"
	"net/netip"
)

// ErrImageMissing is matched by the error of a container whose image is not on the node.
var ErrImageMissing = errors.New("the image is not on the node")

// ControlPlaneCopies run the control plane of a copy of this node's /etc and /var beside the cluster that runs. The two do not reach each
// other: the copy has a network of its own, without a way out, and sees no file outside its folder. One copy runs at a time.
type ControlPlaneCopies interface {
	// CopyStore copies the etcd data of the running cluster into the copy at root, as a power cut now would leave it. The cluster
	// is only read.
	CopyStore(ctx context.Context, root string) error
	// Isolate makes the network of the copy, with these addresses on an uplink that leads nowhere. It replaces an earlier one.
	Isolate(ctx context.Context, own []netip.Prefix) error
	// Start starts a container of a static pod of the copy, by the image and the command that its manifest names. The error
	// matches ErrImageMissing where the image is not on the node.
	Start(ctx context.Context, root string, c StaticContainer) error
	// Output is the end of what the container has written, and whether it runs.
	Output(ctx context.Context, c StaticContainer) (text string, running bool, err error)
	// Ask asks a server over HTTPS, in the network of the copy unless the question says otherwise. A server whose certificate
	// does not match is an error.
	Ask(ctx context.Context, q Question) (Reply, error)
	// Remove ends the containers and removes the network, whatever an earlier process has left of them.
	Remove(ctx context.Context) error
}

// StaticContainer is a container of a static pod.
type StaticContainer struct {
	// Manifest is the pod's file in the copy, Name the container's.
	Manifest, Name string
	// HostIP is what the pod takes for the node's address.
	HostIP netip.Addr
}

// Question is one request of HTTPS.
type Question struct {
	At netip.AddrPort
	// Path is the path and query of the URL.
	Path string
	// ServerName is what the certificate has to be for; the address where empty.
	ServerName string
	// Authorities verify the server; Certificate and Key are the client's, in PEM. Secret.
	Authorities, Certificate, Key []byte
	// Running asks in the node's own network.
	Running bool
}

// Reply is the answer of a server.
type Reply struct {
	Status int
	Body   []byte
}
