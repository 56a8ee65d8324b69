#!/usr/bin/env bash
# Prints the dnsmasq configuration of a single node, as a section of a site policy or as a MachineConfig. It is
# "lca-cli dnsmasq" under the flags that the field knows.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: generate-dnsmasq-site-policy-section.sh --name <cluster> --domain <domain> --ip <addr> [ --mc ] [ --wave <1-100> ]
Options:
    --name       - Cluster name
    --domain     - Cluster baseDomain
    --ip         - Node IP
    --mc         - Generate machine-config (default is site-policy)
    --wave       - Add ztp-deploy-wave annotation with specified value to site-policy

Summary:
    Generates a subsection of site-policy to include dnsmasq config for an SNO.

Example:
    generate-dnsmasq-site-policy-section.sh --name mysno --domain sno.cluster-domain.com --ip 10.20.30.5
USAGE
}

verb=policy
args=()
while [ $# -gt 0 ]; do
  case "$1" in
    --name | --domain | --ip | --wave)
      [ $# -ge 2 ] || {
        echo "$1 needs a value" >&2
        exit 1
      }
      args+=("$1" "$2")
      shift 2
      ;;
    --mc)
      verb=machineconfig
      shift
      ;;
    --help | -h)
      usage
      exit 0
      ;;
    *)
      usage >&2
      exit 1
      ;;
  esac
done

cli=${LCA_CLI:-$(command -v lca-cli || true)}
if [ -n "$cli" ]; then
  exec "$cli" dnsmasq "$verb" "${args[@]}"
fi
cd "$(dirname "$0")/.."
exec go run ./cmd/lca-cli dnsmasq "$verb" "${args[@]}"
