#!/bin/bash
# ready.sh HOST:PORT: returns when the program there says that it is ready, or fails after two minutes.
set -euo pipefail
for ((try = 0; try < 1200; try++)); do
  if answer=$({
    printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3
    head -n 1 <&3
  } 3<> "/dev/tcp/${1%:*}/${1##*:}" 2> /dev/null) && [[ $answer == *" 200 "* ]]; then
    exit 0
  fi
  sleep 0.1
done
echo "$1 is not ready" >&2
exit 1
