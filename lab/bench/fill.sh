#!/bin/bash
# fill.sh BIG DIRS: put incompressible data into /var: one file of BIG MiB, and DIRS folders
# of 1024 files of 32 KiB each.
set -euo pipefail
dir=/var/lib/bench-data
mkdir -p "$dir"
head -c "${1}M" /dev/urandom >"$dir/big"
for ((i = 0; i < $2; i++)); do
  mkdir "$dir/d$i"
  head -c 32M /dev/urandom | split -b 32K -a 4 - "$dir/d$i/f"
done
sync
