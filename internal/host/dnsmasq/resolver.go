package dnsmasq

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// What a filter leaves out of the answers.
const (
	None = "none"
	IPv4 = "ipv4"
	IPv6 = "ipv6"
)

// Resolver implements host.Resolver.
type Resolver struct{ files host.Files }

// New returns the resolver whose files these are.
func New(files host.Files) *Resolver { return &Resolver{files: files} }

// The shell variables that the node's dnsmasq_config.sh reads.
const (
	overrideKey    = "SNO_DNSMASQ_IP_OVERRIDE"
	clusterNameKey = "SNO_CLUSTER_NAME_OVERRIDE"
	baseDomainKey  = "SNO_BASE_DOMAIN_OVERRIDE"
)

const (
	overrideMode = 0o644
	filterMode   = 0o644
)

// directives of dnsmasq(8) for each family left out; they need dnsmasq 2.87.
var directives = map[string]string{IPv4: "filter-A", IPv6: "filter-AAAA"}

// header opens the filter file, so that an administrator knows whose it is.
const header = "# Written by Lifecycle Agent; set spec.dnsFilterOutFamily of the IPConfig instead of editing.\n"

// SetOverride implements host.Resolver. Only our line of the file changes; the first keeps its
// place, further ones of the same key would overrule it and go.
func (r *Resolver) SetOverride(root string, addr netip.Addr) error {
	if err := r.setVariables(root, [2]string{overrideKey, addr.String()}); err != nil {
		return fmt.Errorf("set the address of the cluster's names: %w", err)
	}
	if err := r.moveSite(root, addr); err != nil {
		return fmt.Errorf("move what is answered for the site: %w", err)
	}
	return nil
}

// moveSite has the names of the site's domain lead to the node's new address as well.
func (r *Resolver) moveSite(root string, addr netip.Addr) error {
	file := path.Join("/", root, host.DnsmasqSite)
	text, mode, err := r.readFile(file, overrideMode)
	if err != nil || len(text) == 0 {
		return err
	}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		at := strings.LastIndex(line, "/") + 1
		former, err := netip.ParseAddr(strings.TrimSpace(line[at:]))
		if strings.HasPrefix(line, "address=") && err == nil && former.Is4() == addr.Is4() {
			line = line[:at] + addr.String() + "\n"
		}
		out.WriteString(line)
	}
	if out.String() == string(text) {
		return nil
	}
	return r.files.Write(file, []byte(out.String()), mode)
}

// SetCluster implements host.Resolver.
func (r *Resolver) SetCluster(root, name, base string) error {
	if err := r.setVariables(root, [2]string{clusterNameKey, name}, [2]string{baseDomainKey, base}); err != nil {
		return fmt.Errorf("set the cluster's names: %w", err)
	}
	return nil
}

// setVariables sets variables of the file of overrides.
func (r *Resolver) setVariables(root string, values ...[2]string) error {
	file := path.Join("/", root, host.DnsmasqOverrides)
	old, mode, err := r.readFile(file, overrideMode)
	if err != nil {
		return err
	}
	text := string(old)
	for _, v := range values {
		text = replaceLine(text, v[0], v[0]+"="+v[1])
	}
	return r.files.Write(file, []byte(text), mode)
}

// readFile returns a file with its mode; one that is missing is empty.
func (r *Resolver) readFile(file string, mode fs.FileMode) ([]byte, fs.FileMode, error) {
	data, err := r.files.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, mode, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if st, err := r.files.Stat(file); err == nil && st.Mode().IsRegular() {
		mode = st.Mode().Perm()
	}
	return data, mode, nil
}

// replaceLine sets the assignment of key, adding it at the end where there is none.
func replaceLine(text, key, assignment string) string {
	var out strings.Builder
	found := false
	for line := range strings.Lines(text) {
		if !isAssignment(line, key) {
			out.WriteString(line)
			if !strings.HasSuffix(line, "\n") {
				out.WriteByte('\n')
			}
			continue
		}
		if !found {
			out.WriteString(assignment + "\n")
		}
		found = true
	}
	if !found {
		out.WriteString(assignment + "\n")
	}
	return out.String()
}

// isAssignment says whether a line of shell sets the variable.
func isAssignment(line, key string) bool {
	word := strings.TrimPrefix(strings.TrimSpace(line), "export ")
	return strings.HasPrefix(strings.TrimSpace(word), key+"=")
}

// SetFilter implements host.Resolver.
func (r *Resolver) SetFilter(root, family string) error {
	file := path.Join("/", root, host.DnsmasqFilter)
	var err error
	switch family {
	case "":
	case None:
		err = r.files.Remove(file)
	case IPv4, IPv6:
		err = r.files.Write(file, []byte(header+directives[family]+"\n"), filterMode)
	default:
		err = fmt.Errorf("family %q is none of %s, %s, %s", family, IPv4, IPv6, None)
	}
	if err != nil {
		return fmt.Errorf("set the filter of DNS answers: %w", err)
	}
	return nil
}

// Filter implements host.Resolver.
func (r *Resolver) Filter() (string, error) {
	data, err := r.files.Read(host.DnsmasqFilter)
	if errors.Is(err, fs.ErrNotExist) {
		return None, nil
	}
	if err != nil {
		return "", fmt.Errorf("read the filter of DNS answers: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		for family, directive := range directives {
			if strings.TrimSpace(line) == directive {
				return family, nil
			}
		}
	}
	return "", fmt.Errorf("%s holds neither %s nor %s", host.DnsmasqFilter, directives[IPv4], directives[IPv6])
}
