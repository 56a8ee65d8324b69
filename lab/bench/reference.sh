#!/bin/bash
# Prepare the new stateroot in the reference implementation's order, then reboot into it. Runs
# as lca-ipconfig-pre-pivot.service, in the place of "lca-cli ip-config pre-pivot". Package bench says
# what is taken over from an earlier change and why. Each step leaves "NAME START END" in the steps file.
set -euo pipefail

stash=/var/lib/bench-reference
workspace=/var/lib/lca/workspace
steps=$stash/steps
: >"$steps"
began=$(date +%s.%N)

ended() { # NAME: the step that ends here
  local now
  now=$(date +%s.%N)
  echo "$1 $began $now" >>"$steps"
  began=$now
}

wanted() { sed -n 's/^ *"'"$1"'": "\(.*\)",\{0,1\}$/\1/p' $workspace/ip-config-pre-pivot.json; }

booted() { ostree admin status | awk '$1 == "*" {print $2, $3}'; }

# The boot index of a stateroot: deployments are listed in boot order.
index_of() {
  ostree admin status | awk -v want="$1" '{sub(/^\*/, "")} length($2) > 64 && $2 ~ /^[0-9a-f]+\.[0-9]+$/ {if ($1 == want) {print n + 0; exit} n++}'
}

exists() { systemctl cat "$1" >/dev/null 2>&1; }

stop_cluster() {
  systemctl stop kubelet.service
  systemctl disable --quiet kubelet.service
  if exists crio.service; then
    crictl ps -q | xargs --no-run-if-empty --max-args 1 --max-procs 10 crictl stop --timeout 5
    crictl pods -q | xargs --no-run-if-empty crictl rmp -f || true
    systemctl stop crio.service
  fi
}

deploy() {
  mount -o remount,bind,rw /sysroot 2>/dev/null || true
  mount -o remount,bind,rw /boot 2>/dev/null || true
  ostree admin os-init "$new"
  ostree admin deploy --os "$new" --no-prune --not-as-default --karg-proc-cmdline "${old_commit%.*}"
}

copy() { # FROM TO
  if [ -d /sys/fs/selinux/booleans ]; then
    cp -ar --preserve=context "$1" "$2"
  else
    cp -ar "$1" "$2"
  fi
}

write_files() {
  local to=$new_root/$workspace file name
  mkdir -p "$to"
  cp -a "$stash/workspace/." "$to/"
  cp "$stash/overrides" "$new_deployment/etc/default/sno_dnsmasq_configuration_overrides"
  rm -rf "$new_root/var/lib/ovn-ic/etc" "$new_root"/var/lib/openvswitch/{conf.db,.conf.db.~lock~} \
    "$new_deployment/etc/cni/multus/certs" "$new_deployment"/etc/openvswitch/{conf.db,.conf.db.~lock~}
  while read -r file; do
    [ ! -e "$file" ] || { mkdir -p "$(dirname "$new_root/$file")" && cp -a "$file" "$new_root/$file"; }
  done < <(grep -o '"path": *"/var/lib/[^"]*"' /etc/machine-config-daemon/currentconfig 2>/dev/null | cut -d'"' -f4)
  systemctl enable --quiet kubelet.service
  for file in "$stash"/units/*; do
    name=$(basename "$file")
    install -m 600 "$file" "$new_deployment/etc/systemd/system/$name"
    systemctl enable --quiet --root "$new_deployment" "$name"
  done
  cp /var/usrlocal/bin/lca-cli "$new_root/var/usrlocal/bin/lca-cli"
  rm -f "$new_root/var/lib/lca/ipc.json"
}

# What the shared post-pivot wants to see: hashes of the files that were prepared.
seal() {
  local file at first=1
  {
    printf '{"operation":"%s","stateroot":"%s","files":{' "$operation" "$new"
    for file in $workspace/{ip-config-pre-pivot,ip-config-post-pivot,ip-config-autorollback-config,recert_config}.json \
      $workspace/{initmonitor_mode,nmstate.yaml} "$stash"/workspace/kubeconfig-crypto/* /var/lib/kubelet/config.json \
      /etc/systemd/system/{lca-init-monitor,ip-configuration}.service /etc/default/sno_dnsmasq_configuration_overrides; do
      file=${file/#$stash\/workspace/$workspace}
      case $file in /var/*) at=$new_root$file ;; *) at=$new_deployment$file ;; esac
      [ -e "$at" ] || continue
      [ $first = 1 ] || printf ,
      first=0
      printf '"%s":"%s"' "$file" "$(sha256sum "$at" | cut -d' ' -f1)"
    done
    printf '}}\n'
  } >"$new_root/$workspace/seal.json"
}

operation=$(wanted operation-id)
new=$(wanted new-stateroot-name)
read -r old old_commit <<<"$(booted)"
old_root=/ostree/deploy/$old
new_root=/ostree/deploy/$new
[ -n "$operation" ] && [ -n "$new" ] && [ -n "$old_commit" ]

stop_cluster
ended stop-cluster
deploy
new_deployment=$(echo "$new_root"/deploy/*.0)
old_deployment=$old_root/deploy/$old_commit
ended deploy-stateroot
copy "$old_root/var/" "$new_root/"
ended copy-var
copy "$old_deployment/etc/" "$new_deployment/"
cp -a "$old_deployment.origin" "$new_deployment.origin"
ended copy-etc
ostree admin set-default "$(index_of "$new")"
ended set-default
write_files
ended write-files
seal
ended seal
systemd-run --quiet --unit lifecycle-agent-reboot systemctl --message="IP Config" reboot
sleep 3600
