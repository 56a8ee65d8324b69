#!/bin/bash
# stash.sh STATEROOT: after the rollback of a change to STATEROOT, keep what that change
# collected and wrote, for reference.sh; and move its copy of the data out of the way.
set -euo pipefail
new=/ostree/deploy/$1
new_deployment=$(echo "$new"/deploy/*.0)
stash=/var/lib/bench-reference
workspace=/var/lib/lca/workspace
mkdir -p "$stash/workspace" "$stash/units"
cp -a $workspace/{nmstate.yaml,recert_config.json} "$stash/workspace/"
[ -d "$stash/workspace/kubeconfig-crypto" ] # keep.sh has copied it
cp -a "$new/$workspace/initmonitor_mode" "$stash/workspace/"
cp -a "$new_deployment"/etc/systemd/system/{lca-init-monitor,ip-configuration}.service "$stash/units/"
cp -a "$new_deployment/etc/default/sno_dnsmasq_configuration_overrides" "$stash/overrides"

# In mounts of our own, for the node may keep /sysroot read-only.
if [ -d "$new/var/lib/bench-data" ]; then
  # shellcheck disable=SC2016
  unshare --mount bash -c 'mount -o remount,bind,rw /sysroot 2>/dev/null || true
    mkdir -p /sysroot/bench-aside && mv "$1/var/lib/bench-data" /sysroot/bench-aside/' - "$new"
fi

# Put reference.sh in the place of lca-cli in the unit that the operator starts; until the next boot.
dropin=/run/systemd/system/lca-ipconfig-pre-pivot.service.d
mkdir -p $dropin
cat >$dropin/reference.conf <<END
[Service]
ExecStart=
ExecStart=/bin/bash $stash/reference.sh
END
cat >"$stash/reference.sh"
systemctl daemon-reload
