package seed

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// registryAdvice says what to do about each fault of a registry; more special ones come first.
var registryAdvice = []struct {
	fault  error
	advice string
}{
	{host.ErrRegistryPlain, "give it a certificate: images are sent and read over TLS alone"},
	{host.ErrRegistryClock, "set the clock of this node, or renew the certificate"},
	{host.ErrRegistryTrust, "add the authority of its certificate to the node's trust or to the cluster's trusted CA bundle, " +
		"or correct the name in the certificate"},
	{host.ErrRegistryLogin, "log in again, and renew key seedAuth of Secret seedgen"},
	{host.ErrRegistryForbidden, "grant the account the right to push to this repository"},
	{host.ErrRegistryDenied, "check key seedAuth of Secret seedgen"},
	{host.ErrRegistryFull, "free space on the registry, or raise its quota"},
	{host.ErrRegistryAway, "check that the registry runs and that this node reaches it; then try again, what was sent is not sent twice"},
	{host.ErrNoImage, "check the name and the tag of the image"},
}

// ExplainRegistry adds to an error of a registry which one it is and what to do; other errors stay.
func ExplainRegistry(image string, err error) error {
	for _, a := range registryAdvice {
		if errors.Is(err, a.fault) {
			registry, repository := SplitImage(image)
			return fmt.Errorf("registry %s, repository %s: %w; %s: %w", registry, repository, a.fault, a.advice, err)
		}
	}
	return err
}

// Tag is that of a pull specification, "latest" where it has none.
func Tag(pullSpec string) string {
	if at := strings.LastIndexByte(pullSpec, ':'); at > strings.LastIndexByte(pullSpec, '/') {
		return pullSpec[at+1:]
	}
	return "latest"
}

// SplitImage splits a pull specification into registry and repository.
func SplitImage(image string) (registry, repository string) {
	name, _, _ := strings.Cut(image, "@")
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
		name = name[:at]
	}
	registry, repository, _ = strings.Cut(name, "/")
	return registry, repository
}
