#!/bin/bash
# dnsmasq_config.sh: the cluster's own names -> /etc/dnsmasq.d/single-node.conf, from the site's override file.
set -euo pipefail
OVERRIDES=/etc/default/sno_dnsmasq_configuration_overrides
# shellcheck source=/dev/null
. "$OVERRIDES"
name=${SNO_CLUSTER_NAME_OVERRIDE:?missing in $OVERRIDES}
domain=${SNO_BASE_DOMAIN_OVERRIDE:?missing in $OVERRIDES}
ip=${SNO_DNSMASQ_IP_OVERRIDE:?missing in $OVERRIDES}
for host in apps api-int api; do
  echo "address=/$host.$name.$domain/$ip"
done > /etc/dnsmasq.d/single-node.conf
