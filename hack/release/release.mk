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
RELEASE_LDFLAGS = -s -w -X $(VERSION_PACKAGE).release=$(VERSION) -X $(VERSION_PACKAGE).commit=$(COMMIT) -X $(VERSION_PACKAGE).date=$(DATE)

.PHONY: programs
programs: ## Build what an image holds, stripped, for GOARCH: both programs and the public certificate authorities.
	@mkdir -p $(OUT)
	CGO_ENABLED=0 GOOS=linux GOARCH=$(GOARCH) go build -trimpath -ldflags '$(RELEASE_LDFLAGS)' -o $(OUT)/ ./cmd/lifecycle-agent ./cmd/lca-cli
	cp $(CA_BUNDLE) $(OUT)/ca-certificates.crt

.PHONY: image
image: programs ## Build the agent's image for GOARCH with podman or buildah, as IMAGE.
	./hack/release/image "$(IMAGE)" "$(GOARCH)" build/image/$(GOARCH)

.PHONY: release
release: programs $(BIN)/cyclonedx-gomod ## Write what is released into dist/: programs, manifests for IMAGE, notices, SBOMs, checksums.
	rm -rf $(DIST) && mkdir -p $(DIST)
	go run ./hack/release -image "$(IMAGE)" -out $(DIST)
	for p in lifecycle-agent lca-cli; do \
	  cp $(OUT)/$$p $(DIST)/$$p-linux-$(GOARCH) && \
	  $(BIN)/cyclonedx-gomod bin -json -version "$(VERSION)" -output $(DIST)/$$p.cdx.json $(OUT)/$$p; done
	go run ./hack/notices $(OUT)/lifecycle-agent $(OUT)/lca-cli > $(DIST)/THIRD-PARTY-NOTICES.txt
	cd $(DIST) && sha256sum -- * > SHA256SUMS

$(BIN)/cyclonedx-gomod:
	@mkdir -p $(BIN)
	GOBIN=$(abspath $(BIN)) CGO_ENABLED=0 go install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX_VERSION)
