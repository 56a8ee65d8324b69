package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// KeyRule gives the authority of a common name a key.
type KeyRule struct {
	CommonName string
	// Path is a file of the host, or PEM the key itself.
	Path, PEM string
}

// TrustedCA is the bundle that the cluster-wide proxy is trusted by.
type TrustedCA struct{ Name, PEM string }

// Proxy is the cluster-wide proxy: what is asked for, and what the network operator made of it.
type Proxy struct{ HTTP, HTTPS, No, StatusHTTP, StatusHTTPS, StatusNo string }

func readExpiry(kind Expiry) setting {
	return func(c *Config, raw json.RawMessage) error {
		var on bool
		if err := json.Unmarshal(raw, &on); err != nil || !on {
			return err
		}
		if c.Expiry != KeepExpiry && c.Expiry != kind {
			return errors.New("extend_expiration and force_expire exclude each other")
		}
		c.Expiry = kind
		return nil
	}
}

// readKeyRule reads "CN path", "CN:path", and the key itself in the place of the path.
func readKeyRule(c *Config, text string) error {
	rule, ok := splitKeyRule(text)
	if !ok {
		return errors.New("is not \"common-name path\"")
	}
	c.UseKeys = append(c.UseKeys, rule)
	return nil
}

func splitKeyRule(text string) (KeyRule, bool) {
	for _, begin := range []string{wire.PEMBegin, "/"} {
		for _, separator := range []string{" ", ":"} {
			name, rest, ok := strings.Cut(text, separator+begin)
			name = strings.TrimSpace(name)
			if !ok || name == "" || strings.ContainsAny(name, "\n/") {
				continue
			}
			if begin == wire.PEMBegin {
				return KeyRule{CommonName: name, PEM: begin + rest}, true
			}
			return KeyRule{CommonName: name, Path: hostPath(path.Clean(begin + rest))}, true
		}
	}
	return KeyRule{}, false
}

func readCertRule(c *Config, text string) error {
	switch {
	case strings.HasPrefix(text, wire.PEMBegin):
	case path.IsAbs(text):
		text = hostPath(path.Clean(text))
	default:
		return errors.New("is neither a path nor a certificate")
	}
	c.UseCerts = append(c.UseCerts, text)
	return nil
}

func readTrustedCA(c *Config, text string) error {
	name, pem, ok := strings.Cut(text, ":")
	if !ok || name == "" || strings.ContainsAny(name, "/ \n") {
		return errors.New("is not \"name:bundle\"")
	}
	c.TrustedCA = &TrustedCA{name, pem}
	return nil
}

func readProxy(c *Config, text string) error {
	p := strings.Split(text, "|")
	if len(p) != 6 {
		return fmt.Errorf("has %d parts, not the 6 of \"http|https|no|status http|status https|status no\"", len(p))
	}
	c.Proxy = &Proxy{p[0], p[1], p[2], p[3], p[4], p[5]}
	return nil
}
