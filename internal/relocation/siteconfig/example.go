package siteconfig

import (
	_ "embed"
	"fmt"
)

//go:embed full.yaml
var fullExample string

// Example is a file to begin with: all fields, or those that most sites need.
func Example(full bool) string {
	if full {
		return fullExample
	}
	return fmt.Sprintf(minimal, APIVersion, Kind)
}

const minimal = `# The configuration of one site. A field that is left out keeps what the factory installed.
# Check this file with: kubectl lca relocation config validate FILE
apiVersion: %s
kind: %s
metadata:
  name: store-0042            # how people call the site
clusterName: store-0042
baseDomain: edge.example.org  # the cluster becomes store-0042.edge.example.org
hostname: store-0042
network:                      # an nmstate document
  interfaces:
  - name: eno1
    type: ethernet
    state: up
    ipv4:
      enabled: true
      dhcp: false
      address:
      - ip: 192.0.2.10
        prefix-length: 24
  routes:
    config:
    - destination: 0.0.0.0/0
      next-hop-interface: eno1
      next-hop-address: 192.0.2.1
machineNetworks:
- 192.0.2.0/24
nodeIPs:
- 192.0.2.10
dnsServers:
- 192.0.2.53
# pullSecret: '{"auths":{...}}'
# ntpServers:
# - ntp.example.org
# sshKeys:
# - ssh-ed25519 AAAA... admin@example.org
`

//go:embed schema.json
var schema string

// Schema is the JSON schema of a SiteConfig. It is generated from the type by hack/siteschema.
func Schema() string { return schema }
