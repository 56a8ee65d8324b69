# Generated parts of the API: deep copies and CustomResourceDefinitions.
# Included by the top Makefile; all paths are relative to the top of the tree.

CONTROLLER_GEN_VERSION ?= v0.20.1
CONTROLLER_GEN ?= go run sigs.k8s.io/controller-tools/cmd/controller-gen@$(CONTROLLER_GEN_VERSION)

API_VERIFY_DIR := build/verify-api
# Definitions that another product may have installed already go into a component, which config/default leaves out.
API_GENERATE = $(CONTROLLER_GEN) object crd paths=./api/... output:crd:artifacts:config=config/crd/bases && \
	mkdir -p config/components/nmstate config/components/relocation && \
	mv config/crd/bases/nmstate.io_*.yaml config/components/nmstate/ && \
	mv config/crd/bases/rhsyseng.github.io_*.yaml config/components/relocation/

.PHONY: generate-api
generate-api: ## Regenerate deep copies and CRDs from the API types.
	$(API_GENERATE)

# Generates in a workspace that holds a copy of api/ only, so that nothing in
# the tree is touched, and fails with a diff when a committed file is out of date.
.PHONY: verify-api
verify-api: ## Fail if generated API files differ from what the types say.
	rm -rf $(API_VERIFY_DIR)
	mkdir -p $(API_VERIFY_DIR)
	cp -r api $(API_VERIFY_DIR)/
	printf 'go 1.26.0\n\nuse ./api\n' > $(API_VERIFY_DIR)/go.work
	cd $(API_VERIFY_DIR) && $(API_GENERATE)
	diff -ru api $(API_VERIFY_DIR)/api
	diff -ru config/crd/bases $(API_VERIFY_DIR)/config/crd/bases
	diff -ru --exclude=kustomization.yaml config/components/nmstate $(API_VERIFY_DIR)/config/components/nmstate
	diff -ru --exclude=kustomization.yaml config/components/relocation $(API_VERIFY_DIR)/config/components/relocation
	rm -rf $(API_VERIFY_DIR)
