# Builds etcd and the programs of Kubernetes from the pinned modules beside this file. Include it from the top Makefile.
#   make controlplane        takes 5-12 minutes once, seconds afterwards
#   make workloads           kube-controller-manager and kube-scheduler besides, a minute more
# The binaries are rebuilt only when the module files change.

CONTROLPLANE_DIR := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
CONTROLPLANE_BIN ?= build/bin
CONTROLPLANE_MODULE := $(CONTROLPLANE_DIR)/go.mod $(CONTROLPLANE_DIR)/go.sum

# Kubernetes stamps its version by the linker; without it the apiserver calls itself v0.0.0-master.
KUBE_VERSION = $(shell sed -n 's|^[[:space:]]*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' $(CONTROLPLANE_DIR)/go.mod | head -n 1)
KUBE_VERSION_PKG := k8s.io/component-base/version
KUBE_LDFLAGS = -s -w -X $(KUBE_VERSION_PKG).gitVersion=$(KUBE_VERSION) \
	-X $(KUBE_VERSION_PKG).gitMajor=$(word 1,$(subst ., ,$(KUBE_VERSION:v%=%))) \
	-X $(KUBE_VERSION_PKG).gitMinor=$(word 2,$(subst ., ,$(KUBE_VERSION:v%=%))) \
	-X $(KUBE_VERSION_PKG).gitTreeState=clean

.PHONY: controlplane
controlplane: $(CONTROLPLANE_BIN)/etcd $(CONTROLPLANE_BIN)/kube-apiserver $(CONTROLPLANE_BIN)/kubelet

$(CONTROLPLANE_BIN)/etcd: $(CONTROLPLANE_MODULE)
	@echo "building etcd, kube-apiserver and kubelet: takes 5-12 minutes once" >&2
	@mkdir -p $(@D)
	GOWORK=off CGO_ENABLED=0 go build -C $(CONTROLPLANE_DIR) -trimpath -ldflags '-s -w' -o $(abspath $@) go.etcd.io/etcd/server/v3
	@touch $@

# After etcd, not beside it: two Kubernetes-sized links at once want close to 4 GiB.
$(CONTROLPLANE_BIN)/kube-apiserver: $(CONTROLPLANE_MODULE) | $(CONTROLPLANE_BIN)/etcd
	@mkdir -p $(@D)
	GOWORK=off CGO_ENABLED=0 go build -C $(CONTROLPLANE_DIR) -trimpath -ldflags '$(KUBE_LDFLAGS)' -o $(abspath $@) k8s.io/kubernetes/cmd/kube-apiserver
	@touch $@

$(CONTROLPLANE_BIN)/kubelet: $(CONTROLPLANE_MODULE) | $(CONTROLPLANE_BIN)/kube-apiserver
	@mkdir -p $(@D)
	GOWORK=off CGO_ENABLED=0 go build -C $(CONTROLPLANE_DIR) -trimpath -ldflags '$(KUBE_LDFLAGS)' -o $(abspath $@) k8s.io/kubernetes/cmd/kubelet
	@touch $@

# What Deployments and DaemonSets need, for the scenarios that run pods. Most of it was compiled for kube-apiserver and kubelet.
.PHONY: workloads
workloads: $(CONTROLPLANE_BIN)/kube-controller-manager $(CONTROLPLANE_BIN)/kube-scheduler

$(CONTROLPLANE_BIN)/kube-controller-manager: $(CONTROLPLANE_MODULE) | $(CONTROLPLANE_BIN)/kubelet
$(CONTROLPLANE_BIN)/kube-scheduler: $(CONTROLPLANE_MODULE) | $(CONTROLPLANE_BIN)/kube-controller-manager
$(CONTROLPLANE_BIN)/kube-controller-manager $(CONTROLPLANE_BIN)/kube-scheduler:
	@mkdir -p $(@D)
	GOWORK=off CGO_ENABLED=0 go build -C $(CONTROLPLANE_DIR) -trimpath -ldflags '$(KUBE_LDFLAGS)' -o $(abspath $@) k8s.io/kubernetes/cmd/$(@F)
	@touch $@
