package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IPConfigName is the only name that an IPConfig may have.
const IPConfigName = "ipconfig"

// DefaultInitMonitorTimeoutSeconds is the deadline of the watchdog when the
// spec leaves it out or sets it to 0.
const DefaultInitMonitorTimeoutSeconds = 1800

// IPConfigStage is a stage of the change of the node's network.
//
// +kubebuilder:validation:Enum=Idle;Config;Rollback
type IPConfigStage string

// Stages of an IPConfig.
const (
	// StageIdle is the first and the last stage. Entering it after Config makes
	// the change final: no rollback is possible any more.
	StageIdle IPConfigStage = "Idle"

	// StageConfig carries the change out: prepare a new stateroot, reboot into
	// it, rewrite the cluster, wait until it is healthy.
	StageConfig IPConfigStage = "Config"

	// StageRollback reboots into the previous stateroot.
	StageRollback IPConfigStage = "Rollback"
)

// DNSFilterFamily names an address family whose DNS records are left out of
// answers.
//
// +kubebuilder:validation:Enum="";ipv4;ipv6;none
type DNSFilterFamily string

// Values of DNSFilterFamily.
const (
	// DNSFilterIPv4 leaves A records out, so that IPv6 is preferred.
	DNSFilterIPv4 DNSFilterFamily = "ipv4"

	// DNSFilterIPv6 leaves AAAA records out, so that IPv4 is preferred.
	DNSFilterIPv6 DNSFilterFamily = "ipv6"

	// DNSFilterNone leaves nothing out and removes a filter that was set before.
	DNSFilterNone DNSFilterFamily = "none"
)

// IPConfig changes the addresses of a single-node cluster in stages. There is
// exactly one, named "ipconfig".
// ---
// The rules here need the status and therefore sit on the object itself, which
// the API server never exempts from re-validation. Each of them for that reason
// compares with the old object and lets an unchanged value pass, so that labels
// and status can always be written. All other rules sit on spec or below.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ipconfigs,scope=Cluster,shortName=ipc
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Desired Stage",type="string",JSONPath=".spec.stage"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.conditions[-1:].reason"
// +kubebuilder:printcolumn:name="Details",type="string",JSONPath=".status.conditions[-1:].message"
// +kubebuilder:printcolumn:name="Current IPv4",type="string",JSONPath=".status.ipv4.address",priority=1
// +kubebuilder:printcolumn:name="Desired IPv4",type="string",JSONPath=".spec.ipv4.address",priority=1
// +kubebuilder:printcolumn:name="Current IPv6",type="string",JSONPath=".status.ipv6.address",priority=1
// +kubebuilder:printcolumn:name="Desired IPv6",type="string",JSONPath=".spec.ipv6.address",priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'ipconfig'",message="IPConfig is a singleton: metadata.name must be 'ipconfig'; rename the object or edit the existing one"
//
// The spec is locked unless the old object is Idle.
// +kubebuilder:validation:XValidation:rule="(has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'Idle' && c.status == 'True')) || (has(self.spec.ipv4) == has(oldSelf.spec.ipv4) && (!has(self.spec.ipv4) || self.spec.ipv4 == oldSelf.spec.ipv4))",fieldPath=".spec.ipv4",reason=FieldValueForbidden,message="can not change spec.ipv4 while ipconfig is not idle; finish or roll back the current change, set spec.stage to Idle and wait for condition Idle to be True"
// +kubebuilder:validation:XValidation:rule="(has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'Idle' && c.status == 'True')) || (has(self.spec.ipv6) == has(oldSelf.spec.ipv6) && (!has(self.spec.ipv6) || self.spec.ipv6 == oldSelf.spec.ipv6))",fieldPath=".spec.ipv6",reason=FieldValueForbidden,message="can not change spec.ipv6 while ipconfig is not idle; finish or roll back the current change, set spec.stage to Idle and wait for condition Idle to be True"
// +kubebuilder:validation:XValidation:rule="(has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'Idle' && c.status == 'True')) || (has(self.spec.dnsServers) ? self.spec.dnsServers : []) == (has(oldSelf.spec.dnsServers) ? oldSelf.spec.dnsServers : [])",fieldPath=".spec.dnsServers",reason=FieldValueForbidden,message="can not change spec.dnsServers while ipconfig is not idle; finish or roll back the current change, set spec.stage to Idle and wait for condition Idle to be True"
// +kubebuilder:validation:XValidation:rule=`(has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'Idle' && c.status == 'True')) || (has(self.spec.dnsFilterOutFamily) ? self.spec.dnsFilterOutFamily : "") == (has(oldSelf.spec.dnsFilterOutFamily) ? oldSelf.spec.dnsFilterOutFamily : "")`,fieldPath=".spec.dnsFilterOutFamily",reason=FieldValueForbidden,message="can not change spec.dnsFilterOutFamily while ipconfig is not idle; finish or roll back the current change, set spec.stage to Idle and wait for condition Idle to be True"
// +kubebuilder:validation:XValidation:rule="(has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'Idle' && c.status == 'True')) || (has(self.spec.vlanID) == has(oldSelf.spec.vlanID) && (!has(self.spec.vlanID) || self.spec.vlanID == oldSelf.spec.vlanID))",fieldPath=".spec.vlanID",reason=FieldValueForbidden,message="can not change spec.vlanID while ipconfig is not idle; finish or roll back the current change, set spec.stage to Idle and wait for condition Idle to be True"
// +kubebuilder:validation:XValidation:rule="(has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'Idle' && c.status == 'True')) || self.spec.?autoRollbackOnFailure.?initMonitorTimeoutSeconds.orValue(0) == oldSelf.spec.?autoRollbackOnFailure.?initMonitorTimeoutSeconds.orValue(0)",fieldPath=".spec.autoRollbackOnFailure",reason=FieldValueForbidden,message="can not change spec.autoRollbackOnFailure while ipconfig is not idle; finish or roll back the current change, set spec.stage to Idle and wait for condition Idle to be True"
// +kubebuilder:validation:XValidation:rule="(has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'Idle' && c.status == 'True')) || (has(self.spec.probes) ? self.spec.probes : []) == (has(oldSelf.spec.probes) ? oldSelf.spec.probes : [])",fieldPath=".spec.probes",reason=FieldValueForbidden,message="can not change spec.probes while ipconfig is not idle; finish or roll back the current change, set spec.stage to Idle and wait for condition Idle to be True"
//
// A stage may only be left for one of status.validNextStages. No list, or no status, means that no change is allowed.
// +kubebuilder:validation:XValidation:rule="self.spec.stage == oldSelf.spec.stage || (has(oldSelf.status) && has(oldSelf.status.validNextStages) && self.spec.stage in oldSelf.status.validNextStages)",fieldPath=".spec.stage",reason=FieldValueForbidden,message="spec.stage can not change to this stage now; use one of the stages listed in status.validNextStages, or wait while that list is empty",messageExpression="'spec.stage can not change from ' + oldSelf.spec.stage + ' to ' + self.spec.stage + ' now; ' + (oldSelf.?status.?validNextStages.orValue([]).size() == 0 ? 'status.validNextStages is empty, so wait until the agent lists a stage there' : 'use one of the stages listed in status.validNextStages: ' + oldSelf.status.validNextStages.join(', '))"
//
// Families must match the cluster. Checked when the value changes, and once more when stage Config is requested, because
// a new object has no status to check against.
// +kubebuilder:validation:XValidation:rule=`!has(self.spec.ipv4) || ((has(self.spec.ipv4) == has(oldSelf.spec.ipv4) && (!has(self.spec.ipv4) || self.spec.ipv4 == oldSelf.spec.ipv4)) && (self.spec.stage != 'Config' || oldSelf.spec.stage == 'Config')) || oldSelf.?status.?ipv4.?address.orValue("") != "" || oldSelf.?status.?ipv6.?address.orValue("") == ""`,fieldPath=".spec.ipv4",reason=FieldValueForbidden,message="spec.ipv4 cannot be set because the cluster is IPv6-only (status.ipv6 has an address, status.ipv4 has none); remove spec.ipv4"
// +kubebuilder:validation:XValidation:rule=`!has(self.spec.ipv6) || ((has(self.spec.ipv6) == has(oldSelf.spec.ipv6) && (!has(self.spec.ipv6) || self.spec.ipv6 == oldSelf.spec.ipv6)) && (self.spec.stage != 'Config' || oldSelf.spec.stage == 'Config')) || oldSelf.?status.?ipv6.?address.orValue("") != "" || oldSelf.?status.?ipv4.?address.orValue("") == ""`,fieldPath=".spec.ipv6",reason=FieldValueForbidden,message="spec.ipv6 cannot be set because the cluster is IPv4-only (status.ipv4 has an address, status.ipv6 has none); remove spec.ipv6"
// +kubebuilder:validation:XValidation:rule=`((has(self.spec.dnsServers) ? self.spec.dnsServers : []) == (has(oldSelf.spec.dnsServers) ? oldSelf.spec.dnsServers : []) && (self.spec.stage != 'Config' || oldSelf.spec.stage == 'Config')) || oldSelf.?status.?ipv4.?address.orValue("") != "" || oldSelf.?status.?ipv6.?address.orValue("") == "" || !has(self.spec.dnsServers) || self.spec.dnsServers.all(d, !isIP(d) || ip(d).family() == 6)`,fieldPath=".spec.dnsServers",reason=FieldValueForbidden,message="spec.dnsServers cannot contain an IPv4 address because the cluster is IPv6-only (status.ipv6 has an address, status.ipv4 has none); list IPv6 servers only"
// +kubebuilder:validation:XValidation:rule=`((has(self.spec.dnsServers) ? self.spec.dnsServers : []) == (has(oldSelf.spec.dnsServers) ? oldSelf.spec.dnsServers : []) && (self.spec.stage != 'Config' || oldSelf.spec.stage == 'Config')) || oldSelf.?status.?ipv6.?address.orValue("") != "" || oldSelf.?status.?ipv4.?address.orValue("") == "" || !has(self.spec.dnsServers) || self.spec.dnsServers.all(d, !isIP(d) || ip(d).family() == 4)`,fieldPath=".spec.dnsServers",reason=FieldValueForbidden,message="spec.dnsServers cannot contain an IPv6 address because the cluster is IPv4-only (status.ipv4 has an address, status.ipv6 has none); list IPv4 servers only"
// +kubebuilder:validation:XValidation:rule=`!(self.spec.?dnsFilterOutFamily.orValue("") in ['ipv4', 'ipv6']) || ((has(self.spec.dnsFilterOutFamily) ? self.spec.dnsFilterOutFamily : "") == (has(oldSelf.spec.dnsFilterOutFamily) ? oldSelf.spec.dnsFilterOutFamily : "") && (self.spec.stage != 'Config' || oldSelf.spec.stage == 'Config')) || (oldSelf.?status.?ipv4.?address.orValue("") != "" && oldSelf.?status.?ipv6.?address.orValue("") != "")`,fieldPath=".spec.dnsFilterOutFamily",reason=FieldValueForbidden,message="spec.dnsFilterOutFamily can be ipv4 or ipv6 only on a dual-stack cluster, that is when status.ipv4.address and status.ipv6.address are both present; use none or leave it out"
type IPConfig struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	// +required
	Spec IPConfigSpec `json:"spec"`

	// Status is what the agent observes and does.
	// +kubebuilder:default:={"observedGeneration":-1}
	// +optional
	Status IPConfigStatus `json:"status,omitempty"`
}

// IPConfigList is a list of IPConfig.
//
// +kubebuilder:object:root=true
type IPConfigList struct {
	metav1.TypeMeta `json:",inline"`

	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items holds at most one IPConfig.
	Items []IPConfig `json:"items"`
}

// IPConfigSpec is the desired network of the node and the requested stage. All fields but stage may be changed only
// while the object is Idle; stage may be changed in the same request.
//
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.stage == 'Idle'",optionalOldSelf=true,fieldPath=".stage",reason=FieldValueForbidden,message="spec.stage must be Idle when the IPConfig is created; create it with stage Idle, wait until status.validNextStages lists the stage you want, then request it"
// +kubebuilder:validation:XValidation:rule=`oldSelf.hasValue() || !(self.?dnsFilterOutFamily.orValue("") in ['ipv4', 'ipv6'])`,optionalOldSelf=true,fieldPath=".dnsFilterOutFamily",reason=FieldValueForbidden,message="spec.dnsFilterOutFamily cannot be ipv4 or ipv6 when the IPConfig is created, because status does not yet show a dual-stack cluster; create it without, and set it when status.ipv4.address and status.ipv6.address are both present"
type IPConfigSpec struct {
	// Stage is the requested stage. It may be changed only to a value
	// listed in status.validNextStages.
	// +required
	Stage IPConfigStage `json:"stage"`

	// IPv4 is the node's IPv4 configuration. Omit it to leave IPv4 as it is, and
	// always on an IPv6-only cluster.
	// +optional
	IPv4 *IPv4Config `json:"ipv4,omitempty"`

	// IPv6 is the node's IPv6 configuration. Omit it to leave IPv6 as it is, and
	// always on an IPv4-only cluster.
	// +optional
	IPv6 *IPv6Config `json:"ipv6,omitempty"`

	// DNSServers lists the node's DNS servers, IPv4 and IPv6, in the order in
	// which they are asked. Omit it to keep the present servers.
	//
	// The limit of 8 is far above what a resolver uses (three in resolv.conf,
	// all of them by dnsmasq) and keeps the validation rules cheap. A duplicate
	// is refused, because the node reports each server once and the change would
	// then never be seen as complete.
	//
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:XValidation:rule="isIP(self) && ip(self).isGlobalUnicast()",message="each entry of spec.dnsServers must be a unicast IPv4 or IPv6 address without prefix length, port or zone, for example 192.0.2.53 or 2001:db8::53; correct or remove it"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !isIP(x) || self.exists_one(y, isIP(y) && cidr(x + (ip(x).family() == 4 ? '/32' : '/128')).containsIP(y)))",message="spec.dnsServers names the same address more than once; remove the duplicate"
	// +listType=atomic
	// +optional
	DNSServers []string `json:"dnsServers,omitempty"`

	// VLANID is the VLAN (IEEE 802.1Q, 1 to 4094) of the uplink of br-ex. Omit it
	// to keep the VLAN that the node has, or its having none. An explicit 0 removes
	// a VLAN and leaves the uplink untagged.
	//
	// +kubebuilder:validation:XValidation:rule="self >= 0 && self <= 4094",message="spec.vlanID must be 1 to 4094, or 0 for no VLAN (leave it out to keep the present one); 4095 is reserved by IEEE 802.1Q"
	// +optional
	VLANID *int32 `json:"vlanID,omitempty"`

	// DNSFilterOutFamily leaves the records of one address family out of the
	// answers of the node's DNS: ipv4 leaves out A, ipv6 leaves out AAAA, none
	// removes a filter. ipv4 and ipv6 need a dual-stack cluster. Omit it to keep
	// the present setting.
	// +optional
	DNSFilterOutFamily DNSFilterFamily `json:"dnsFilterOutFamily,omitempty"`

	// AutoRollbackOnFailure governs the automatic rollback.
	// +optional
	AutoRollbackOnFailure *AutoRollbackOnFailure `json:"autoRollbackOnFailure,omitempty"`

	// Probes check the new network. The change completes only when every probe has
	// passed; otherwise it is rolled back.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	Probes []Probe `json:"probes,omitempty"`
}

// ProbeType is the protocol of a probe.
//
// +kubebuilder:validation:Enum=tcp;http;dns;icmp
type ProbeType string

// Types of a probe.
const (
	// ProbeTCP connects to host:port.
	ProbeTCP ProbeType = "tcp"

	// ProbeHTTP gets an http or https URL and checks the status code.
	ProbeHTTP ProbeType = "http"

	// ProbeDNS resolves a name with the node's own resolver.
	ProbeDNS ProbeType = "dns"

	// ProbeICMP pings a host.
	ProbeICMP ProbeType = "icmp"
)

// Probe is one check of the new network. It is retried until it passes or its timeout expires.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'tcp' || self.target.matches('^([^][:/ ]+|[[][0-9A-Fa-f:.]+[]]):[1-9][0-9]{0,4}$')",fieldPath=".target",message="the target of a tcp probe must be host:port, for example registry.example.com:5000, 192.0.2.7:22 or [2001:db8::7]:22"
// +kubebuilder:validation:XValidation:rule="self.type != 'http' || (isURL(self.target) && url(self.target).getScheme() in ['http', 'https'] && url(self.target).getHost().size() > 0 && !self.target.contains('@'))",fieldPath=".target",message="the target of an http probe must be a URL with http or https and a host, and without user and password, for example https://registry.example.com/healthz"
// +kubebuilder:validation:XValidation:rule="self.type != 'dns' || self.target.matches('^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?([.][A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*[.]?$')",fieldPath=".target",message="the target of a dns probe must be a domain name, for example registry.example.com"
// +kubebuilder:validation:XValidation:rule="self.type != 'icmp' || isIP(self.target) || self.target.matches('^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?([.][A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*[.]?$')",fieldPath=".target",message="the target of an icmp probe must be an IP address or a name, without port, for example 192.0.2.1"
// +kubebuilder:validation:XValidation:rule="self.type == 'http' || !has(self.http)",fieldPath=".http",message="http is for probes of type http only; remove it"
// +kubebuilder:validation:XValidation:rule="self.type != 'http' || !has(self.http) || self.target.lowerAscii().startsWith('https://') || (!has(self.http.caBundle) && !(has(self.http.insecureSkipVerify) && self.http.insecureSkipVerify))",fieldPath=".http",message="caBundle and insecureSkipVerify are for https targets only; remove them or ask https"
type Probe struct {
	// Name identifies the probe; a failure names it.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`

	// Type is the protocol of the probe.
	// +required
	Type ProbeType `json:"type"`

	// Target is host:port (tcp), a URL (http), a name (dns) or a host (icmp).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +required
	Target string `json:"target"`

	// TimeoutSeconds is how long the probe may take to pass, all attempts together. Omitted means 30.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=600
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// HTTP configures a probe of type http.
	// +optional
	HTTP *HTTPProbe `json:"http,omitempty"`
}

// HTTPProbe says which response lets an http probe pass.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.caBundle) && has(self.insecureSkipVerify) && self.insecureSkipVerify)",message="caBundle and insecureSkipVerify exclude each other: either the server's certificate is verified, or it is not"
type HTTPProbe struct {
	// StatusCodes are those that pass. Omitted means 200 to 399; a redirect is not followed.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=100
	// +kubebuilder:validation:items:Maximum=599
	// +listType=set
	// +optional
	StatusCodes []int32 `json:"statusCodes,omitempty"`

	// CABundle holds the authorities (PEM) by which the certificate of an https server is verified. Omitted means
	// those that the node trusts.
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:XValidation:rule="self.contains('-----BEGIN CERTIFICATE-----')",message="caBundle must hold certificates in PEM"
	// +optional
	CABundle string `json:"caBundle,omitempty"`

	// InsecureSkipVerify skips certificate verification of an https server.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// IPv4Config is the desired IPv4 configuration.
//
// +kubebuilder:validation:XValidation:rule="!has(self.machineNetwork) || !isIP(self.address) || ip(self.address).family() != 4 || !isCIDR(self.machineNetwork) || cidr(self.machineNetwork).ip().family() != 4 || cidr(self.machineNetwork).containsIP(self.address)",fieldPath=".address",message="spec.ipv4.address must be inside spec.ipv4.machineNetwork; correct one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.machineNetwork) || !isIP(self.address) || !isCIDR(self.machineNetwork) || cidr(self.machineNetwork).ip().family() != 4 || cidr(self.machineNetwork).prefixLength() >= 31 || string(cidr(self.machineNetwork).masked()) != self.machineNetwork.lowerAscii() || !cidr(self.machineNetwork.substring(0, self.machineNetwork.indexOf('/')) + '/32').containsIP(self.address)",fieldPath=".address",message="spec.ipv4.address must not be the first address of spec.ipv4.machineNetwork, which names the network itself; choose a host address"
// +kubebuilder:validation:XValidation:rule="!has(self.machineNetwork) || !has(self.gateway) || !isIP(self.gateway) || ip(self.gateway).family() != 4 || !isCIDR(self.machineNetwork) || cidr(self.machineNetwork).ip().family() != 4 || cidr(self.machineNetwork).containsIP(self.gateway)",fieldPath=".gateway",message="spec.ipv4.gateway must be inside spec.ipv4.machineNetwork; correct one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || !isIP(self.gateway) || ip(self.gateway).family() != 4 || !isIP(self.address) || !cidr(self.gateway + '/32').containsIP(self.address)",fieldPath=".gateway",message="spec.ipv4.gateway must not be the node's own spec.ipv4.address; enter the address of the router"
type IPv4Config struct {
	// Address is the node's IPv4 address, without prefix length.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 4 && ip(self).isGlobalUnicast()",message="spec.ipv4.address must be a unicast IPv4 address without prefix length, for example 192.0.2.10; put the network into spec.ipv4.machineNetwork"
	// +kubebuilder:validation:XValidation:rule="!isIP(self) || ip(self).family() != 4 || !ip(self).isGlobalUnicast() || !(cidr('0.0.0.0/8').containsIP(self) || cidr('240.0.0.0/4').containsIP(self))",message="spec.ipv4.address must not be in 0.0.0.0/8 or 240.0.0.0/4, which are reserved and belong to no host (RFC 6890); choose a host address"
	// +required
	Address string `json:"address"`

	// MachineNetwork is the network that contains the address, in CIDR notation. When omitted, the current machine network
	// is kept. A network that is not the current one also gives the address on the network card its prefix length;
	// otherwise the card keeps the one that it has.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4 && cidr(self) == cidr(self).masked()",message="spec.ipv4.machineNetwork must be an IPv4 network in CIDR notation with no host bits set, for example 192.0.2.0/24; correct it"
	// +optional
	MachineNetwork string `json:"machineNetwork,omitempty"`

	// Gateway is the default gateway. When omitted, the current one is kept.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 4 && ip(self).isGlobalUnicast()",message="spec.ipv4.gateway must be a unicast IPv4 address without prefix length, for example 192.0.2.1; correct it or leave it out"
	// +optional
	Gateway string `json:"gateway,omitempty"`
}

// IPv6Config is the desired IPv6 configuration.
//
// +kubebuilder:validation:XValidation:rule="!has(self.machineNetwork) || !isIP(self.address) || ip(self.address).family() != 6 || !isCIDR(self.machineNetwork) || cidr(self.machineNetwork).ip().family() != 6 || cidr(self.machineNetwork).containsIP(self.address)",fieldPath=".address",message="spec.ipv6.address must be inside spec.ipv6.machineNetwork; correct one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.machineNetwork) || !isIP(self.address) || !isCIDR(self.machineNetwork) || cidr(self.machineNetwork).ip().family() != 6 || cidr(self.machineNetwork).prefixLength() >= 127 || string(cidr(self.machineNetwork).masked()) != self.machineNetwork.lowerAscii() || !cidr(self.machineNetwork.substring(0, self.machineNetwork.indexOf('/')) + '/128').containsIP(self.address)",fieldPath=".address",message="spec.ipv6.address must not be the first address of spec.ipv6.machineNetwork, which every router answers (RFC 4291 2.6.1); choose a host address"
// +kubebuilder:validation:XValidation:rule="!has(self.machineNetwork) || !has(self.gateway) || !isIP(self.gateway) || ip(self.gateway).family() != 6 || ip(self.gateway).isLinkLocalUnicast() || !isCIDR(self.machineNetwork) || cidr(self.machineNetwork).ip().family() != 6 || cidr(self.machineNetwork).containsIP(self.gateway)",fieldPath=".gateway",message="spec.ipv6.gateway must be inside spec.ipv6.machineNetwork or be link-local (fe80::/10); correct one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || !isIP(self.gateway) || ip(self.gateway).family() != 6 || !isIP(self.address) || !cidr(self.gateway + '/128').containsIP(self.address)",fieldPath=".gateway",message="spec.ipv6.gateway must not be the node's own spec.ipv6.address; enter the address of the router"
type IPv6Config struct {
	// Address is the node's IPv6 address, without prefix length.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 6 && ip(self).isGlobalUnicast()",message="spec.ipv6.address must be a unicast IPv6 address without prefix length and not link-local, for example 2001:db8::10; put the network into spec.ipv6.machineNetwork"
	// +required
	Address string `json:"address"`

	// MachineNetwork is the network that contains the address, in CIDR notation. When omitted, the current machine network
	// is kept. A network that is not the current one also gives the address on the network card its prefix length;
	// otherwise the card keeps the one that it has.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 6 && cidr(self) == cidr(self).masked()",message="spec.ipv6.machineNetwork must be an IPv6 network in CIDR notation with no host bits set, for example 2001:db8::/64; correct it"
	// +optional
	MachineNetwork string `json:"machineNetwork,omitempty"`

	// Gateway is the default gateway; it may be link-local. When omitted, the
	// current one is kept.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 6 && (ip(self).isGlobalUnicast() || ip(self).isLinkLocalUnicast())",message="spec.ipv6.gateway must be a unicast IPv6 address without prefix length or zone, for example 2001:db8::1 or fe80::1; correct it or leave it out"
	// +optional
	Gateway string `json:"gateway,omitempty"`
}

// AutoRollbackOnFailure governs the automatic rollback.
type AutoRollbackOnFailure struct {
	// InitMonitorTimeoutSeconds is how long the whole change may take, in
	// seconds, before the watchdog rolls it back. 0 or omitted means 1800.
	// +kubebuilder:validation:XValidation:rule="self >= 0",message="spec.autoRollbackOnFailure.initMonitorTimeoutSeconds must be 0 (which means the default of 1800) or more; correct it"
	// +optional
	InitMonitorTimeoutSeconds int32 `json:"initMonitorTimeoutSeconds,omitempty"`
}
