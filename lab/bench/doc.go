// Package bench measures what an address change costs its users, and compares the
// product's order of work with the reference implementation's on the same node
// and the same data. "lab bench" calls it, and "make bench" calls that.
//
// One fresh node per amount of data in /var, and on it, in this order: the data is
// written; the node is rebooted, for scale; the product changes the address; it is rolled
// back and cleaned up; the same request is made again and carried out in the reference's order.
//
// The reference's order is a script (reference.sh), not a re-implementation of the
// reference: stop kubelet, containers and runtime first; then deploy the stateroot; then
// cp -ar all of /var and /etc; set-default; write the files; reboot. Everything around it
// is the same: a systemd drop-in puts the script in the place of "lca-cli ip-config
// pre-pivot" in the unit that the operator starts, so request, validation, reboot,
// post-pivot and completion are the product's own in both columns, and the node really ends
// at the new address, with its IPConfig completed. What the reference collects from the
// cluster (recert's configuration and keys, the nmstate document), before it stops anything,
// is taken over from the first change of the same node, which had the same request; so the
// reference's collecting costs nothing here. The script adds one thing that the reference does not have: the
// seal, a few hashes that the shared post-pivot wants to see. It leaves out rpm-ostree
// cleanup, the kernel arguments of a MachineConfig, and the container runtime where the node has none.
//
// What could favour either side, and what is done about it: the disk is flushed before
// each request; the reference comes second and finds the data in the page cache at least as
// well as the product did; the copy that the product made is moved aside, not deleted, since
// some file systems are slow to make files just after many were removed; a reference
// copy whose content differs from the original is an error.
//
// Of the product it knows the API types and the files that the script needs; it must
// not import the product's packages.
package bench
