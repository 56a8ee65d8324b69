package lca_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestProbes(t *testing.T) {
	at := func(field, message string) *refusal { return &refusal{"spec.probes[0]" + field, message} }
	tcp := at(".target", "the target of a tcp probe must be host:port, for example registry.example.com:5000, 192.0.2.7:22 or [2001:db8::7]:22")
	http := at(".target", "the target of an http probe must be a URL with http or https and a host, and without user and password, "+
		"for example https://registry.example.com/healthz")
	dns := at(".target", "the target of a dns probe must be a domain name, for example registry.example.com")
	icmp := at(".target", "the target of an icmp probe must be an IP address or a name, without port, for example 192.0.2.1")
	httpOnly := at(".http", "http is for probes of type http only; remove it")
	httpsOnly := at(".http", "caBundle and insecureSkipVerify are for https targets only; remove them or ask https")
	either := at(".http", "caBundle and insecureSkipVerify exclude each other: either the server's certificate is verified, or it is not")
	const pem = `"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"`
	one := func(probe string) string { return "probes: [{name: p, " + probe + "}]" }
	runFieldCases(t, []fieldCase{
		{"none", `probes: []`, nil},
		{"tcp, name", one(`type: tcp, target: "registry.example.com:5000"`), nil},
		{"tcp, IPv4", one(`type: tcp, target: "192.0.2.7:22", timeoutSeconds: 600`), nil},
		{"tcp, IPv6", one(`type: tcp, target: "[2001:db8::7]:22"`), nil},
		{"tcp without port", one(`type: tcp, target: registry.example.com`), tcp},
		{"tcp, port 0", one(`type: tcp, target: "registry.example.com:0"`), tcp},
		{"tcp, IPv6 without brackets", one(`type: tcp, target: "2001:db8::7:22"`), tcp},
		{"http", one(`type: http, target: "http://192.0.2.7:8080/healthz"`), nil},
		{"https with all", one(`type: http, target: "https://registry.example.com/", http: {statusCodes: [200, 401], caBundle: ` + pem + `}`), nil},
		{"https, not verified", one(`type: http, target: "https://registry.example.com/", http: {insecureSkipVerify: true}`), nil},
		{"http without scheme", one(`type: http, target: registry.example.com`), http},
		{"ftp", one(`type: http, target: "ftp://registry.example.com/"`), http},
		{"password in the URL", one(`type: http, target: "https://u:p@registry.example.com/"`), http},
		{"verification of http", one(`type: http, target: "http://registry.example.com/", http: {insecureSkipVerify: true}`), httpsOnly},
		{"authorities for http", one(`type: http, target: "http://registry.example.com/", http: {caBundle: ` + pem + `}`), httpsOnly},
		{"verified and not verified", one(`type: http, target: "https://r.example.com/", http: {insecureSkipVerify: true, caBundle: ` + pem + `}`), either},
		{"authorities that are none", one(`type: http, target: "https://r.example.com/", http: {caBundle: hello}`),
			at(".http.caBundle", "caBundle must hold certificates in PEM")},
		{"impossible status", one(`type: http, target: "http://r.example.com/", http: {statusCodes: [42]}`),
			at(".http.statusCodes[0]", "spec.probes[0].http.statusCodes[0] in body should be greater than or equal to 100")},
		{"dns", one(`type: dns, target: registry.example.com`), nil},
		{"dns, absolute", one(`type: dns, target: _sip.example.com.`), nil},
		{"dns, URL", one(`type: dns, target: "https://registry.example.com"`), dns},
		{"icmp", one(`type: icmp, target: 192.0.2.1`), nil},
		{"icmp, IPv6", one(`type: icmp, target: "2001:db8::1"`), nil},
		{"icmp, name", one(`type: icmp, target: hub.example.com`), nil},
		{"icmp, port", one(`type: icmp, target: "192.0.2.1:7"`), icmp},
		{"http settings of tcp", one(`type: tcp, target: "a:1", http: {statusCodes: [200]}`), httpOnly},
		{"unknown type", one(`type: ping, target: a`), at(".type", `Unsupported value: "ping": supported values: "tcp", "http", "dns", "icmp"`)},
		{"no target", one(`type: tcp`), at(".target", "Required value")},
		{"name with a dot", `probes: [{name: a.b, type: icmp, target: a}]`,
			at(".name", "spec.probes[0].name in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'")},
		{"timeout too long", one(`type: icmp, target: a, timeoutSeconds: 601`),
			at(".timeoutSeconds", "spec.probes[0].timeoutSeconds in body should be less than or equal to 600")},
		{"same name twice", `probes: [{name: p, type: icmp, target: a}, {name: p, type: icmp, target: b}]`,
			&refusal{"spec.probes[1]", `Duplicate value: {"name":"p"}`}},
		{"too many", "probes: [" + many(9) + "]", &refusal{"spec.probes", "Too many: 9: must have at most 8 items"}},
	})
}

func many(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("{name: p%d, type: icmp, target: a}", i))
	}
	return strings.Join(all, ", ")
}
