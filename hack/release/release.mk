# What is handed out: programs, image, manifests, notices. Included by the top Makefile.

CYCLONEDX_VERSION := v1.10.0
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
DATE ?= $(shell git show -s --format=%cI HEAD 2>/dev/null || echo unknown)
GOARCH ?= $(shell go env GOARCH)
# The image's name; what is released refers to it, best by digest: make release IMAGE=REGISTRY/lifecycle-agent@sha256:...
IMAGE ?= localhost/lifecycle-agent:$(VERSION)
DIST := dist
OUT ?= build/image/$(GOARCH)/image
CA_BUNDLE ?= /etc/ssl/certs/ca-certificates.crt
VERSION_PACKAGE := github.com/lifecycle-agent/lifecycle-agent/internal/version
# A module of this repository is linked from its folder; the SBOM names it as its importers do.
NAME_OWN_MODULES = sed -i 's|\./api@(devel)|$(API_MODULE)@$(VERSION)|; s|"\./api"|"$(API_MODULE)"|; s|"(devel)"|"$(VERSION)"|'
API_MODULE := github.com/lifecycle-agent/lifecycle-agent/api
PROGRAM_LDFLAGS = -s -w -X $(VERSION_PACKAGE).release=$(VERSION) -X $(VERSION_PACKAGE).commit=$(COMMIT) -X $(VERSION_PACKAGE).date=$(DATE)
# How every program is built. Without traces grpc links no templates, which would keep every exported method (decision 0127).
PROGRAM_BUILD = GOWORK=off CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -ldflags '$(PROGRAM_LDFLAGS)'

# Where the files of a release will be downloaded from; the manifest of krew names it.
RELEASE_URL ?= https://example.invalid/lifecycle-agent/$(VERSION)
PLUGIN_PLATFORMS := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64

.PHONY: programs
programs: ## Build what an image holds, stripped, for GOARCH: both programs and the public certificate authorities.
	@mkdir -p $(OUT)
	GOOS=linux GOARCH=$(GOARCH) $(PROGRAM_BUILD) -o $(OUT)/ ./cmd/lifecycle-agent ./cmd/lca-cli
	cp $(CA_BUNDLE) $(OUT)/ca-certificates.crt

# Each stateroot has a copy of lca-cli, and each seed image two (decision 0127).
LCA_CLI_LIMIT := 40000000

.PHONY: size
size: ## Print the sizes of lca-cli and kubectl-lca, and fail if lca-cli is larger than 40 MB.
	@mkdir -p build/size
	GOOS=linux GOARCH=$(GOARCH) $(PROGRAM_BUILD) -o build/size/ ./cmd/lca-cli ./cmd/kubectl-lca
	@cd build/size && stat -c '%n: %s bytes' lca-cli kubectl-lca
	@if [ "$$(stat -c %s build/size/lca-cli)" -gt $(LCA_CLI_LIMIT) ]; then \
	  echo "size: lca-cli is larger than $(LCA_CLI_LIMIT) bytes; docs/decisions/0127-a-small-program-on-the-node.md has the usual reasons" >&2; \
	  exit 1; fi

.PHONY: image
image: programs ## Build the agent's image for GOARCH with podman or buildah, as IMAGE.
	./hack/release/image "$(IMAGE)" "$(GOARCH)" build/image/$(GOARCH)

.PHONY: release
release: programs $(BIN)/cyclonedx-gomod ## Write what is released into dist/: programs, manifests for IMAGE, notices, SBOMs, checksums.
	rm -rf $(DIST) && mkdir -p $(DIST)
	go run ./hack/release -image "$(IMAGE)" -out $(DIST)
	for p in lifecycle-agent lca-cli; do \
	  cp $(OUT)/$$p $(DIST)/$$p-linux-$(GOARCH) && \
	  $(BIN)/cyclonedx-gomod bin -json -version "$(VERSION)" -output $(DIST)/$$p.cdx.json $(OUT)/$$p && \
	  $(NAME_OWN_MODULES) $(DIST)/$$p.cdx.json || exit; done
	go run ./hack/notices $(OUT)/lifecycle-agent $(OUT)/lca-cli > $(DIST)/THIRD-PARTY-NOTICES.txt
	$(MAKE) --no-print-directory plugin bundle
	go run ./hack/release -krew -version "$(VERSION)" -url "$(RELEASE_URL)" -out $(DIST)
	go run ./hack/release -notes CHANGELOG.md -version "$(VERSION)" -out $(DIST)
	cd $(DIST) && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum -- > SHA256SUMS

.PHONY: plugin
plugin: $(BIN)/cyclonedx-gomod ## Build kubectl lca for each platform into dist/, as archives with their notices, and SBOMs.
	@mkdir -p $(DIST) build/plugin
	for p in $(PLUGIN_PLATFORMS); do \
	  plugin=kubectl-lca; if [ $${p%-*} = windows ]; then plugin=kubectl-lca.exe; fi; \
	  GOOS=$${p%-*} GOARCH=$${p#*-} $(PROGRAM_BUILD) -o build/plugin/$$plugin ./cmd/kubectl-lca && \
	  go run ./hack/notices build/plugin/$$plugin > build/plugin/THIRD-PARTY-NOTICES.txt && \
	  $(BIN)/cyclonedx-gomod bin -json -version "$(VERSION)" -output $(DIST)/kubectl-lca-$$p.cdx.json build/plugin/$$plugin && \
	  $(NAME_OWN_MODULES) $(DIST)/kubectl-lca-$$p.cdx.json && \
	  cp hack/release/kubectl_complete-lca LICENSE build/plugin/ && \
	  tar --sort=name --owner=0 --group=0 --mtime=@0 -C build/plugin -czf $(DIST)/kubectl-lca-$$p.tar.gz \
	    $$plugin kubectl_complete-lca LICENSE THIRD-PARTY-NOTICES.txt || exit; done

.PHONY: bundle
bundle: ## Write and validate an OLM bundle of the operator role into dist/bundle (after the manifests).
	@test -f $(DIST)/install-ipam.yaml || { mkdir -p $(DIST) && go run ./hack/release -image "$(IMAGE)" -out $(DIST); }
	GOWORK=off go run -C tools/bundle . -manifests $(abspath $(DIST))/install-ipam.yaml -out $(abspath $(DIST))/bundle \
	  -samples $(abspath config/samples) -version "$$(go run ./hack/release -semver "$(VERSION)")"

$(BIN)/cyclonedx-gomod:
	@mkdir -p $(BIN)
	GOBIN=$(abspath $(BIN)) CGO_ENABLED=0 go install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX_VERSION)
