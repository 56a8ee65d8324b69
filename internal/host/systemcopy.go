package host

import (
	"context"
	"io"
)

// SystemCopies give access to copies of /etc and /var of a cluster's node, below a folder. The cluster itself may run
// meanwhile; nothing of it is touched.
type SystemCopies interface {
	// Files are those of the copy; no path leads out of it.
	Files(root string) Files
	// Open opens a regular file of the copy to be read piece by piece, however large it is. The caller closes it.
	Open(root, path string) (io.ReadCloser, error)
	// Keystore is over the etcd data of the copy.
	Keystore(root string) Keystore
	// Recert is the native engine; all paths of its configuration, and that of the configuration itself, are in the copy.
	Recert(root string) Recert
	// Purge removes from etcd's log in the copy what was overwritten or deleted. Keys keep their values.
	Purge(ctx context.Context, root string) error
}

// ContainerImage is an image in the node's container storage.
type ContainerImage struct{ Tags, Digests []string }

// SystemReports read what the node's tools report.
type SystemReports interface {
	// Images lists the container runtime's images; a node without a runtime has none.
	Images(ctx context.Context) ([]ContainerImage, error)
	// RPMOSTree is the verbose status of rpm-ostree, as JSON; an error matching fs.ErrNotExist on a node without it.
	RPMOSTree(ctx context.Context) ([]byte, error)
}

// Commits bring systems from elsewhere onto the node.
type Commits interface {
	// Import takes a commit of an unpacked ostree repository into the node's own.
	Import(ctx context.Context, repo, checksum string) error
	// DeployCommit deploys a commit with these kernel arguments into the stateroot, creating it where needed, as
	// Deployments.Clone does with the booted one.
	DeployCommit(ctx context.Context, stateroot, checksum string, kernelArguments []string) (Deployment, error)
}
