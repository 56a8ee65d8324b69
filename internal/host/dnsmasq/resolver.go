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

// overrideKey is what the installer's dnsmasq_config.sh reads the node's address from.
const overrideKey = "SNO_DNSMASQ_IP_OVERRIDE="

// directives maps the family that is filtered out to dnsmasq's word for it.
var directives = map[string]string{"ipv4": "filter-A", "ipv6": "filter-AAAA"}

// Resolver implements host.Resolver.
type Resolver struct {
	files host.Files
}

// New edits dnsmasq's files through the given port.
func New(files host.Files) *Resolver { return &Resolver{files: files} }

// SetOverride implements host.Resolver. All other lines stay as they are.
func (r *Resolver) SetOverride(root string, addr netip.Addr) error {
	file := path.Join(root, host.DnsmasqOverrides)
	data, err := r.files.Read(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", file, err)
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		plain := strings.TrimPrefix(strings.TrimSpace(line), "export ")
		if line != "" && !strings.HasPrefix(plain, overrideKey) {
			lines = append(lines, line)
		}
	}
	lines = append(lines, overrideKey+addr.String())
	if err := r.files.Write(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// SetFilter implements host.Resolver.
func (r *Resolver) SetFilter(root, family string) error {
	file := path.Join(root, host.DnsmasqFilter)
	switch family {
	case "":
		return nil
	case "none":
		if err := r.files.Remove(file); err != nil {
			return fmt.Errorf("remove %s: %w", file, err)
		}
		return nil
	}
	directive, ok := directives[family]
	if !ok {
		return fmt.Errorf("DNS filter %q is none of ipv4, ipv6, none", family)
	}
	text := "# Written by Lifecycle Agent; set spec.dnsFilterOutFamily of the IPConfig instead of editing.\n" + directive + "\n"
	if err := r.files.Write(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// Filter implements host.Resolver.
func (r *Resolver) Filter() (string, error) {
	data, err := r.files.Read(host.DnsmasqFilter)
	if errors.Is(err, fs.ErrNotExist) {
		return "none", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", host.DnsmasqFilter, err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		for family, directive := range directives {
			if strings.TrimSpace(line) == directive {
				return family, nil
			}
		}
	}
	return "", fmt.Errorf("%s holds neither filter-A nor filter-AAAA", host.DnsmasqFilter)
}
