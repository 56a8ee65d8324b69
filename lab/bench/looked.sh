#!/bin/bash
# looked.sh HOST:PORT: returns when the operator with its metrics there has looked at its object since it started, or fails after two minutes.
set -euo pipefail
for ((try = 0; try < 1200; try++)); do
  if metrics=$({
    printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
    cat <&3
  } 3<> "/dev/tcp/${1%:*}/${1##*:}" 2> /dev/null) &&
    grep -q '^controller_runtime_reconcile_total{controller="ipconfig",result="requeue_after"} [1-9]' <<< "$metrics"; then
    exit 0
  fi
  sleep 0.1
done
echo "the operator at $1 has not looked at its object" >&2
exit 1
