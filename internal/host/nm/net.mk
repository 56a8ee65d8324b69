# Included by the top-level Makefile: what the network tests need, below build/.

.PHONY: network-deps test-network
network-deps: build/network/done ## fetch NetworkManager and Open vSwitch for the tests (unpacked, not installed)

build/network/done: internal/host/nm/testdata/network-deps.sh
	rm -rf build/network
	internal/host/nm/testdata/network-deps.sh build/network

test-network: network-deps ## tests against a real NetworkManager and Open vSwitch, in namespaces of their own (root)
	go test -count=1 -shuffle=on ./internal/netstate/... ./internal/host/nm/... ./internal/host/ovs/... ./internal/host/probe/...

# One boot of an emulated machine, a few minutes.
KERNEL_TESTS := ^(TestKinds|TestVLAN|TestBondPorts|TestFilterChanges|TestPortsMove|TestPrimaryIsCleared|TestPortMovesBetweenABridgeAndABond|TestTheUplinkIsABond|TestMACsec)$$/^(bond|dummy|vrf|vlan|bridge_that.*|VLAN_over.*)$$

.PHONY: test-network-kernel
test-network-kernel: network-deps ## tests of bonds, VLANs, VRFs and VLAN filters, in a guest with Debian's kernel (emulated)
	internal/host/nm/testdata/kernel-guest.sh build/network build/network-kernel '$(KERNEL_TESTS)'
