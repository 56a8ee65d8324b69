package v1

// Probes say how the new network of a node is proved before it is kept.
type Probes struct {
	// Builtin probes to run after the change. A probe that fails before the change is left out, but for Gateway
	// where the document names default gateways.
	// Omitted means all; an empty list means none.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	Builtin *[]BuiltinProbe `json:"builtin,omitempty"`

	// Custom probes are run in addition. All have to pass, whatever they did before.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	Custom []Probe `json:"custom,omitempty"`

	// TimeoutSeconds bounds all probes of one change together. Omitted means 120.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=600
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// BuiltinProbe is a probe that every node knows.
//
// +kubebuilder:validation:Enum=Gateway;DNS;APIServer;NodeReady
type BuiltinProbe string

// Values of BuiltinProbe.
const (
	// ProbeGateway pings the default gateways.
	ProbeGateway BuiltinProbe = "Gateway"
	// ProbeDNS asks every DNS server of the node.
	ProbeDNS BuiltinProbe = "DNS"
	// ProbeAPIServer reads from the cluster's API.
	ProbeAPIServer BuiltinProbe = "APIServer"
	// ProbeNodeReady waits for the Node to be Ready.
	ProbeNodeReady BuiltinProbe = "NodeReady"
)

// ProbeType is the protocol of a custom probe.
//
// +kubebuilder:validation:Enum=tcp;http;dns;icmp
type ProbeType string

// Types of a custom probe, as an IPConfig has them.
const (
	// ProbeTypeTCP connects to host:port.
	ProbeTypeTCP ProbeType = "tcp"
	// ProbeTypeHTTP gets an http or https URL; 200 to 399 passes.
	ProbeTypeHTTP ProbeType = "http"
	// ProbeTypeDNS resolves a name with the node's own resolver.
	ProbeTypeDNS ProbeType = "dns"
	// ProbeTypeICMP pings a host.
	ProbeTypeICMP ProbeType = "icmp"
)

// Probe is a custom probe. It is retried until it passes or its timeout expires.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'tcp' || self.target.matches('^([^][:/ ]+|[[][0-9A-Fa-f:.]+[]]):[1-9][0-9]{0,4}$')",fieldPath=".target",message="the target of a tcp probe must be host:port, for example registry.example.com:5000, 192.0.2.7:22 or [2001:db8::7]:22"
// +kubebuilder:validation:XValidation:rule="self.type != 'http' || (isURL(self.target) && url(self.target).getScheme() in ['http', 'https'] && url(self.target).getHost().size() > 0 && !self.target.contains('@'))",fieldPath=".target",message="the target of an http probe must be a URL with http or https and a host, and without user and password, for example https://registry.example.com/healthz"
// +kubebuilder:validation:XValidation:rule="self.type != 'dns' || self.target.matches('^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?([.][A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*[.]?$')",fieldPath=".target",message="the target of a dns probe must be a domain name, for example registry.example.com"
// +kubebuilder:validation:XValidation:rule="self.type != 'icmp' || isIP(self.target) || self.target.matches('^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?([.][A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*[.]?$')",fieldPath=".target",message="the target of an icmp probe must be an IP address or a name, without port, for example 192.0.2.1"
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
}
