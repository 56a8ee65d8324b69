package dnsmasq

import (
	"fmt"
	"net/netip"
	"strings"
)

// The files of the MachineConfig. Other programs know their bytes, so not one may change.

const overrideHead = `
# In order to override cluster domain please provide this file with the following params:
# SNO_CLUSTER_NAME_OVERRIDE=<new cluster name>
# SNO_BASE_DOMAIN_OVERRIDE=<your new base domain>
# SNO_DNSMASQ_IP_OVERRIDE=<new ip>
source /etc/default/sno_dnsmasq_configuration_overrides

HOST_IP=${SNO_DNSMASQ_IP_OVERRIDE:-"%s"}
CLUSTER_NAME=${SNO_CLUSTER_NAME_OVERRIDE:-"%s"}
BASE_DOMAIN=${SNO_BASE_DOMAIN_OVERRIDE:-"%s"}
CLUSTER_FULL_DOMAIN="${CLUSTER_NAME}.${BASE_DOMAIN}"
`

const oneFamily = `
cat << EOF > /etc/dnsmasq.d/single-node.conf
address=/apps.${CLUSTER_FULL_DOMAIN}/${HOST_IP}
address=/api-int.${CLUSTER_FULL_DOMAIN}/${HOST_IP}
address=/api.${CLUSTER_FULL_DOMAIN}/${HOST_IP}
EOF
`

// An override names one address; without it both families are served.
const twoFamilies = `
: > /etc/dnsmasq.d/single-node.conf
for ip in ${SNO_DNSMASQ_IP_OVERRIDE:-%s}; do
cat << EOF >> /etc/dnsmasq.d/single-node.conf
address=/apps.${CLUSTER_FULL_DOMAIN}/${ip}
address=/api-int.${CLUSTER_FULL_DOMAIN}/${ip}
address=/api.${CLUSTER_FULL_DOMAIN}/${ip}
EOF
done
`

const resolverTail = `
export BASE_RESOLV_CONF=/run/NetworkManager/resolv.conf
if [ "$2" = "dhcp4-change" ] || [ "$2" = "dhcp6-change" ] || [ "$2" = "up" ] || [ "$2" = "connectivity-change" ]; then
    export TMP_FILE=$(mktemp /etc/forcedns_resolv.conf.XXXXXX)
    cp  $BASE_RESOLV_CONF $TMP_FILE
    chmod --reference=$BASE_RESOLV_CONF $TMP_FILE
    sed -i -e "s/${CLUSTER_FULL_DOMAIN}//" ` +
	`        -e "s/search /& ${CLUSTER_FULL_DOMAIN} /" ` +
	`        -e "0,/nameserver/s/nameserver/& $HOST_IP\n&/" $TMP_FILE
    mv $TMP_FILE /etc/resolv.conf
fi
`

const noResolver = "\n[main]\nrc-manager=unmanaged\n"

const unit = `[Unit]
Description=Run dnsmasq to provide local dns for Single Node OpenShift
Before=kubelet.service crio.service
After=network.target

[Service]
TimeoutStartSec=30
ExecStartPre=/usr/local/bin/dnsmasq_config.sh
ExecStart=/usr/sbin/dnsmasq -k
Restart=always

[Install]
WantedBy=multi-user.target
`

// Site is the cluster that dnsmasq answers for.
type Site struct {
	Name, Domain string
	// Addresses of the node, the primary one first, at most one of each family.
	Addresses []netip.Addr
}

func (s Site) renderHead() string { return fmt.Sprintf(overrideHead, s.Addresses[0], s.Name, s.Domain) }

// configScript writes dnsmasq's configuration before it starts.
func (s Site) configScript() string {
	if len(s.Addresses) == 1 {
		return "#!/usr/bin/env bash\n" + s.renderHead() + oneFamily
	}
	var all []string
	for _, a := range s.Addresses {
		all = append(all, a.String())
	}
	return "#!/usr/bin/env bash\n" + s.renderHead() + fmt.Sprintf(twoFamilies, strings.Join(all, " "))
}

// dispatcherScript makes the node ask its own dnsmasq first.
func (s Site) dispatcherScript() string { return "#!/bin/bash\n" + s.renderHead() + resolverTail }
