# Lifecycle Agent. `make help` lists what there is; README.md says what to start with.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GOLANGCI_LINT_VERSION := v2.15.0
DEADCODE_VERSION := v0.42.0
# The generator is of the release whose runtime the programs link.
TEMPL_VERSION = $(shell sed -n 's|.*github.com/a-h/templ \(v[0-9.]*\).*|\1|p' go.mod)
TEMPL = go run github.com/a-h/templ/cmd/templ@$(TEMPL_VERSION)
BIN := build/bin
# The modules of go.work. Programs are built from go.mod alone (GOWORK=off), as anybody does who has only that.
MODULES := $(shell sed -n 's|^\t\(\..*\)|\1|p' go.work)
# nspawn boots in seconds; qemu has a real kernel and boot loader.
MACHINE ?= nspawn
# Nodes that run side by side: a scenario mostly waits, but an emulated node takes a whole core.
LAB_PARALLEL := $(if $(filter qemu,$(MACHINE)),1,3)

# Programs and tests are compiled with the same flags, so that a package is compiled once; with -race, which needs cgo, once more.
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath
export CGO_ENABLED := 0

include api/api.mk
include tools/controlplane/controlplane.mk
include hack/release/release.mk
-include lab/lab.mk
-include internal/host/nm/net.mk
-include test/nmstate/nmstate.mk

.PHONY: help
help: ## List the targets.
	@grep -hE '^[a-zA-Z_-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

.PHONY: build
build: ## Build the programs into build/bin, stripped: the node keeps a copy in each stateroot.
	@mkdir -p $(BIN)
	$(PROGRAM_BUILD) -o $(BIN)/ ./cmd/... ./lab/cmd/...

.PHONY: demo
demo: host-packages build controlplane ## Change a real node's address and bring it back (MACHINE=nspawn|qemu).
	$(BIN)/lab demo --machine $(MACHINE)

.PHONY: test
test: host-packages network-deps build controlplane workloads ## Run everything that this machine can run: unit, api, network, lab.
	./hack/test

.PHONY: test-unit
test-unit: ## Run the tests that need neither root nor a server.
	go test -short ./api/... ./cmd/... ./config/... ./hack/... ./internal/... ./lab/... ./test/... ./test/health/...

.PHONY: test-matrix
test-matrix: ## Crash at every point of every crash matrix; "make test" plays a quarter of them (LCA_MATRIX_SEED).
	LCA_MATRIX=all go test -count=1 -timeout 120m -run "$$(./hack/matrices pattern)" $$(./hack/matrices packages)

.PHONY: test-lab
test-lab: host-packages build controlplane workloads ## Run the scenarios on a lab node (MACHINE=nspawn|qemu).
	LCA_LAB_MACHINE=$(MACHINE) go test -count=1 -shuffle=on -timeout 60m -parallel $(LAB_PARALLEL) -v -tags lab ./lab/scenario/... ./lab/cmd/nodelet

.PHONY: test-long
test-long: ## Also run slow scenarios.
	LCA_LAB_LONG=1 $(MAKE) test-lab

.PHONY: fuzz
fuzz: ## Feed every reader of foreign bytes made-up ones, FUZZTIME (10s) each.
	./hack/fuzz

.PHONY: bench
bench: host-packages build controlplane ## Measure reconcile, prepare and outage, against the order of the reference.
	@mkdir -p build/bench
	go test -run '^$$' -bench . -benchmem -benchtime 100x ./internal/controller/... | tee build/bench/reconcile.txt
	$(BIN)/lab bench --machine $(MACHINE) --reconcile build/bench/reconcile.txt

.PHONY: demo-ipam
demo-ipam: controlplane ## A pool, 1,000 claims, a machine's own Ignition config, on a real API server.
	@go test -count=1 -tags demo -run '^TestDemo$$' ./internal/controller/hostnet -v | sed '/^=== \|^--- \|^PASS/d'

demo-network: SCENARIO := TestNetworkPolicies
demo-seed: SCENARIO := TestSeedImage
demo-relocation: SCENARIO := TestRelocation

.PHONY: demo-network demo-seed demo-relocation
demo-network: ## Policies on a real node: a bridge comes up, a wrong gateway is rolled back, kills and a power cut are survived.
demo-seed: ## A seed image: made of one node, published, restored on another one under another name and address, rolled back.
demo-relocation: ## A node leaves its factory, refuses a stick with a dead gateway, is at home with another one, goes back.
demo-network demo-seed demo-relocation: host-packages build controlplane workloads
	$(BIN)/lab image
	@go test -count=1 -timeout 30m -tags lab -run '^$(SCENARIO)$$' -v ./lab/scenario | sed -un 's/^ *[a-z_]*_test.go:[0-9]*: //p; /^ *--- /p; /^FAIL/p'

.PHONY: bench-ipam
bench-ipam: controlplane ## Measure address management: in memory, and with two replicas on a real API server (LCA_BENCH_CLAIMS, LCA_BENCH_ADDRESSES).
	go test -run '^$$' -bench OneMoreClaim -benchtime 1x ./internal/ipam | grep '^Benchmark'
	go test -count=1 -timeout 120m -tags bench -run '^TestBench' -v ./internal/controller/ipam | grep '^|'

.PHONY: bench-network
bench-network: controlplane network-deps ## Measure policies on simulated nodes of a real API server (LCA_BENCH_NODES, LCA_BENCH_POLICIES), and documents on a real NetworkManager, beside nmstatectl if installed.
	go test -count=1 -timeout 120m -tags bench -run '^TestBench' -v ./internal/controller/netbench | grep --line-buffered -E '^\||, by the |: [0-9]+ of [0-9]+ after '
	NMTEST_PATIENCE=10 go test -run '^$$' -bench '^Benchmark(Network|Nmstatectl)$$' -benchtime 5x -v ./internal/host/nm | grep -E '^Benchmark|reason:'

.PHONY: interop
interop: controlplane workloads ## Run our results through other projects' files (INTEROP_SRC) and programs (INTEROP_BIN): docs/interop.md.
	INTEROP_SRC="$(INTEROP_SRC)" INTEROP_BIN="$(INTEROP_BIN)" go test -count=1 -timeout 60m -tags interop -v ./test/interop

.PHONY: lint
lint: $(BIN)/golangci-lint deadcode ## Check style, dead code, and that the arrows of the architecture point inwards.
	$(BIN)/golangci-lint run $(addsuffix /...,$(MODULES))

$(BIN)/golangci-lint:
	@mkdir -p $(BIN)
	GOBIN=$(abspath $(BIN)) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

.PHONY: deadcode
deadcode: $(BIN)/deadcode ## Fail if no program calls a function (hack/deadcode.allow lists exceptions).
	./hack/deadcode

$(BIN)/deadcode:
	@mkdir -p $(BIN)
	GOBIN=$(abspath $(BIN)) go install golang.org/x/tools/cmd/deadcode@$(DEADCODE_VERSION)

.PHONY: mutate
mutate: controlplane ## Break the product in chosen places and list what no test notices (MUTATE="-random 40 -seed 7 ./internal/flow").
	go run ./hack/mutate $(MUTATE)

.PHONY: generate
generate: generate-api generate-rbac generate-pages generate-docs ## Regenerate everything that is generated.

# Each role of the agent has a service account of its own, with what its controllers' markers ask for.
RBAC_PATHS_operator := ./internal/controller/ipam;./internal/controller/hostnet;./internal/controller/netpolicy;./internal/controller/netmachineconfig
RBAC_PATHS_node := ./internal/controller/ipconfig;./internal/controller/netenactment;./internal/controller/nodenetwork;./internal/controller/seedgen
# Given to the operator by config/components/relocation alone.
RBAC_PATHS_relocation := ./internal/controller/relocation
RBAC_OUT ?= config/rbac

.PHONY: generate-rbac
generate-rbac: generate-rbac-operator generate-rbac-node generate-rbac-relocation

.PHONY: generate-rbac-%
generate-rbac-%:
	$(CONTROLLER_GEN) rbac:roleName=lifecycle-agent-$* paths="$(RBAC_PATHS_$*)" output:rbac:artifacts:config=$(RBAC_OUT)/$*

# Pages become Go code: a template that is read when the program runs would keep every exported method in it (decision 0127).
.PHONY: generate-pages verify-pages
generate-pages:
	$(TEMPL) fmt internal/relocation
	$(TEMPL) generate -path internal/relocation

verify-pages:
	$(TEMPL) generate -path internal/relocation -check

.PHONY: generate-docs
generate-docs:
	@mkdir -p build
	go run ./hack/stagetable > docs/stages.md
	go run ./hack/schematable > docs/nmstate-schema.md
	go run ./hack/flowtable > docs/flows.md
	go run ./hack/siteschema schema > build/schema.json && cp build/schema.json internal/relocation/siteconfig/schema.json
	go run ./hack/siteschema fields docs/siteconfig.md > build/siteconfig.md && cp build/siteconfig.md docs/siteconfig.md
	go run ./hack/siteschema codes docs/operate/on-site.md > build/on-site.md && cp build/on-site.md docs/operate/on-site.md
	go run ./hack/checktable docs/ipconfig.md > build/ipconfig.md && cp build/ipconfig.md docs/ipconfig.md
	go run ./hack/checktable docs/seed-images.md > build/seed-images.md && cp build/seed-images.md docs/seed-images.md

.PHONY: verify
verify: verify-api verify-pages size ## Fail if a generated file is out of date, a module file untidy or lca-cli too large.
	./hack/verify

.PHONY: host-packages
host-packages:
	./hack/host-packages

.PHONY: clean
clean: ## Remove what was built, and every lab.
	-$(BIN)/lab down --all
	rm -rf build dist
