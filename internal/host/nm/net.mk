# Included by the top-level Makefile: what the network tests need, below build/.

.PHONY: network-deps test-network
network-deps: build/network/done ## fetch NetworkManager and Open vSwitch for the tests (unpacked, not installed)

build/network/done: internal/host/nm/testdata/network-deps.sh
	rm -rf build/network
	internal/host/nm/testdata/network-deps.sh build/network

test-network: network-deps ## tests against a real NetworkManager and Open vSwitch, in namespaces of their own (root)
	go test -count=1 -shuffle=on ./internal/netstate/... ./internal/host/nm/... ./internal/host/ovs/... ./internal/host/probe/...
