# Included by the top-level Makefile: upstream nmstate's own suite, from a checkout that INTEROP_SRC names.

.PHONY: test-nmstate test-nmstate-fixtures
test-nmstate: test-nmstate-fixtures ## Run nmstate's own suite (INTEROP_SRC, root; NMSTATE_MODULES="dns veth") and write docs/nmstate-suite.md.
	test/nmstate/root.sh build/nmstate/root
	INTEROP_SRC="$(INTEROP_SRC)" go test -count=1 -timeout 300m -tags nmstate -run '^TestSuite$$' -v ./test/nmstate

test-nmstate-fixtures: build ## Compare with the documents of nmstate's own tests (INTEROP_SRC); needs no NetworkManager.
	INTEROP_SRC="$(INTEROP_SRC)" go test -count=1 -tags nmstate -run 'Fixtures' -v ./test/nmstate
