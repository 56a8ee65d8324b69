// Package nmtest runs a real NetworkManager for tests: in its own network, mount
// and process namespaces, on its own D-Bus, over empty /run, /etc/NetworkManager
// and /var/lib/NetworkManager. Nothing of the machine's own network is visible.
//
// A test binary calls Main from its TestMain: it starts itself again inside the
// namespaces. Where that cannot be (not root, no NetworkManager) the tests run
// outside and Start skips each with the reason and what to install.
//
// PowerCut leaves of /etc/NetworkManager and /var/lib/NetworkManager what was flushed: what the tested code wrote or removed
// through Disk, the names in those folders, and what Sync made durable. NetworkManager flushes nothing by itself.
//
// Test code only; nothing of the product imports it.
package nmtest
