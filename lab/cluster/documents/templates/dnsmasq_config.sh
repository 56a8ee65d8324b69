#!/usr/bin/env bash
# Names of the cluster for the node's own resolver; a site may override each value.
[ -r /etc/default/sno_dnsmasq_configuration_overrides ] && . /etc/default/sno_dnsmasq_configuration_overrides
HOST_IP=${SNO_DNSMASQ_IP_OVERRIDE:-"{{.Primary}}"}
CLUSTER_NAME=${SNO_CLUSTER_NAME_OVERRIDE:-"{{.ClusterName}}"}
BASE_DOMAIN=${SNO_BASE_DOMAIN_OVERRIDE:-"{{.BaseDomain}}"}
for name in apps api-int api; do
    echo "address=/${name}.${CLUSTER_NAME}.${BASE_DOMAIN}/${HOST_IP}"
done > /etc/dnsmasq.d/single-node.conf
