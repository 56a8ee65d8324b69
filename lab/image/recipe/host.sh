# shellcheck shell=bash
# host.sh: what the recipe asks of the machine it runs on. Sourced by every step, never run.
# The package mirror is whatever the host's own apt is configured with, so that the recipe works behind any proxy
# or mirror without naming one. LAB_MIRROR and LAB_SECURITY_MIRROR override it (a host that is not Debian needs them).

SUITE=trixie
# shellcheck disable=SC2034 # used by the sourcing steps
LIBDIR=usr/lib/x86_64-linux-gnu

fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# need PACKAGE...: host packages, installed only when missing.
need() {
  local p missing=()
  for p in "$@"; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "installing on the host: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y -q --no-install-recommends "${missing[@]}" ||
    { apt-get update -q && apt-get install -y -q --no-install-recommends "${missing[@]}"; }
}

# site LABEL: the mirror of the Debian archive with that label ("Debian" or "Debian-Security").
site() {
  # shellcheck disable=SC2016 # $(ORIGIN) is apt's own syntax
  apt-get indextargets 'Created-By: Packages' --format '$(ORIGIN)|$(LABEL)|$(SITE)' |
    awk -F'|' -v label="$1" '$1 == "Debian" && $2 == label && !found { print $3; found = 1 }'
}

# use_mirrors sets MIRROR and SECURITY_MIRROR; the latter may stay empty.
use_mirrors() {
  MIRROR=${LAB_MIRROR:-$(site Debian)}
  if [ -z "$MIRROR" ]; then
    apt-get update -q
    MIRROR=$(site Debian)
  fi
  [ -n "$MIRROR" ] || fail "no Debian mirror in this host's apt configuration; set LAB_MIRROR"
  SECURITY_MIRROR=${LAB_SECURITY_MIRROR:-$(site Debian-Security)}
}

# sources binary|source: apt source lines for the suite, "source" adds the source packages.
sources() {
  echo "deb $MIRROR $SUITE main"
  [ -z "$SECURITY_MIRROR" ] || echo "deb $SECURITY_MIRROR $SUITE-security main"
  [ "$1" != source ] || echo "deb-src $MIRROR $SUITE main"
}
