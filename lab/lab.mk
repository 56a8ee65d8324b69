# The lab: a real node on this machine. Included by the top Makefile, which has the demo and the tests; needs root.

.PHONY: lab-up
lab-up: build controlplane ## Make a lab node and leave it running (MACHINE=nspawn|qemu); then: build/bin/lab status, shell, apply.
	$(BIN)/lab up --machine $(MACHINE)

.PHONY: lab-down
lab-down: ## Remove every lab node.
	$(BIN)/lab down --all

.PHONY: lab-check
lab-check: build ## Check the lab itself: its scripts with shellcheck, a node booted, moved, cut from power.
	shellcheck -x -P SCRIPTDIR $$(grep -rlE '^#(!/bin/bash| shellcheck shell=bash)' lab/image/recipe lab/image/overlay lab/machine)
	LCA_LAB=1 go test -count=1 -timeout 20m ./lab/image ./lab/network ./lab/machine ./lab

.PHONY: test-vlan
test-vlan: host-packages build controlplane ## Move an emulated node into a VLAN, into another one and out again; up to an hour.
	LCA_LAB_MACHINE=qemu go test -count=1 -timeout 120m -v -tags lab -run '^TestVLAN$$' ./lab/scenario/

.PHONY: test-bond
test-bond: host-packages build controlplane ## Change the address of an emulated node over a bond, and a VLAN on it; up to an hour and a half.
	LCA_LAB_MACHINE=qemu go test -count=1 -timeout 150m -v -tags lab -run '^TestBond' ./lab/scenario/

.PHONY: test-links
test-links: host-packages build controlplane ## Configure every kind of link on an emulated node with two extra cards; an hour.
	LCA_LAB_MACHINE=qemu go test -count=1 -timeout 120m -v -tags lab -run '^TestLinkKinds$$' ./lab/scenario/

.PHONY: test-disk
test-disk: host-packages build controlplane ## Fill an emulated node's disk while a change is prepared; half an hour.
	LCA_LAB_MACHINE=qemu go test -count=1 -timeout 120m -v -tags lab -run '^TestAFullDisk' ./lab/scenario/

CUTS ?= 50
SEED ?= 20261121

.PHONY: soak
soak: host-packages build controlplane ## Cut a node's power at random moments and count what comes back (MACHINE, CUTS, SEED).
	$(BIN)/lab soak --machine $(MACHINE) --cuts $(CUTS) --seed $(SEED)

# A GRUB with blscfg, and a kernel, from Debian packages; the machine's own GRUB may be older.
.PHONY: test-boot
test-boot: ## Boot an emulated PC with UEFI and GRUB into a system that panics or hangs, and back; ten minutes.
	./hack/boot-packages build/boot
	LCA_GRUB_MODULES=$(abspath build/boot/grub) LCA_BOOT_KERNEL=$(abspath build/boot/vmlinuz) \
	  go test -count=1 -timeout 60m -v -run '^TestReal' ./internal/host/grub
