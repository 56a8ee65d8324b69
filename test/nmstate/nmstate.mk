# Included by the top-level Makefile: upstream nmstate's own suite, from a checkout that INTEROP_SRC names.

NMSTATE_SUITE := go test -count=1 -timeout 300m -tags nmstate -run '^TestSuite$$' -v ./test/nmstate

.PHONY: test-nmstate test-nmstate-kernel test-nmstate-fixtures
test-nmstate: test-nmstate-fixtures ## Run nmstate's own suite (INTEROP_SRC, root; NMSTATE_MODULES="dns veth"), write docs/nmstate-suite.md.
	test/nmstate/root.sh build/nmstate/root
	INTEROP_SRC="$(INTEROP_SRC)" $(NMSTATE_SUITE)

test-nmstate-kernel: test-nmstate-fixtures ## The same in guests whose kernel has bonds, VLANs and VRFs (User Mode Linux); slow.
	test/nmstate/root.sh build/nmstate/root
	test/nmstate/kernel.sh build/nmstate/kernel
	INTEROP_SRC="$(INTEROP_SRC)" NMSTATE_KERNEL=../../build/nmstate/kernel $(NMSTATE_SUITE)

test-nmstate-fixtures: build ## Compare with the documents of nmstate's own tests (INTEROP_SRC); needs no NetworkManager.
	INTEROP_SRC="$(INTEROP_SRC)" go test -count=1 -tags nmstate -run 'Fixtures' -v ./test/nmstate
