package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// validateAsk says what speaks against a restore, all of it at once, and what the image says of its cluster. Of the image it reads
// the description only.
func validateAsk(ctx context.Context, n Ports, ask Ask) (facts relocation.Facts, digest string, err error) {
	site, problems := siteconfig.Decode(ask.Site)
	problems = append(problems, Missing(site)...)
	errs := n.checkNode(ctx)
	i, err := openVerifiedImage(ctx, n, ask)
	if err != nil {
		errs = append(errs, err)
	} else {
		facts, digest = factsOf(i.Cluster), i.Digest
		errs = append(errs, listMisfits(i, n.surveyTarget(ctx), ask.OtherHardware)...)
		if len(problems) == 0 {
			problems = onsite.Misfits(relocation.Record{Facts: facts}, site)
		}
	}
	for _, p := range problems {
		errs = append(errs, errors.New("site configuration: "+p.String()))
	}
	if len(errs) > 0 {
		return facts, digest, operation.Refuse("%w", errors.Join(errs...))
	}
	return facts, digest, nil
}

// Missing lists what a restored cluster cannot do without: it would take the seed's otherwise.
func Missing(c siteconfig.SiteConfig) (out []siteconfig.Problem) {
	need := func(missing bool, key, want string) {
		if missing {
			out = append(out, siteconfig.Problem{Key: key, Want: want})
		}
	}
	need(c.ClusterName == "", "clusterName", "is missing: the cluster would have the seed's name")
	need(c.BaseDomain == "", "baseDomain", "is missing: the cluster would have the seed's domain")
	need(c.Hostname == "", "hostname", "is missing: the node would have the seed's name")
	addressed := c.Network != nil && len(onsite.Addresses(relocation.Record{Facts: bothFamilies()}, c)) > 0
	need(!addressed, "network", "must be an nmstate document with a static address: the cluster would have the seed's address")
	need(len(c.SSHKeys) == 0, "sshKeys", "is missing: nobody could log in to the node")
	need(c.PullSecret == "", "pullSecret", "is missing: the image has none, and the node could pull no image")
	return out
}

// bothFamilies are any two addresses: only their families matter.
func bothFamilies() relocation.Facts {
	return relocation.Facts{Addresses: []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()}}
}

// checkNode lists what of the node itself speaks against a restore.
func (n Ports) checkNode(ctx context.Context) (errs []error) {
	if err := n.Deployments.CanSetDefault(ctx); err != nil {
		errs = append(errs, fmt.Errorf("the node cannot choose what boots next: %w", err))
	}
	all, err := n.Deployments.List(ctx)
	if err != nil {
		return append(errs, fmt.Errorf("list deployments: %w", err))
	}
	booted, err := host.Booted(all)
	if err != nil {
		return append(errs, err)
	}
	if err := stateroot.OwnState(n.Files, booted.Stateroot); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// openVerifiedImage opens the image and proves its signature, where a key is given.
func openVerifiedImage(ctx context.Context, n Ports, ask Ask) (*image.Image, error) {
	repo, err := openRepository(ctx, n, ask.Image, ask.AuthFile, ask.CABundle)
	if err != nil {
		return nil, err
	}
	i, err := image.Open(ctx, repo, tagOrDigest(ask.Image))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", ask.Image, err)
	}
	if ask.Key == nil {
		return i, nil
	}
	key, err := image.ParsePublicKey(ask.Key)
	if err != nil {
		return nil, fmt.Errorf("read the public key: %w", err)
	}
	if err := image.VerifySignature(ctx, repo, i.Digest, key); err != nil {
		return nil, fmt.Errorf("verify the signature of %s: %w", ask.Image, err)
	}
	return i, nil
}

// needed are the contents that a restore reads.
var needed = []string{image.Var, image.Etc, image.EtcDeletions, image.Repo, image.RPMOSTree, image.Manifest, image.Sums}

// listMisfits lists why the image cannot be restored here.
func listMisfits(i *image.Image, t Target, otherHardware bool) (errs []error) {
	for _, content := range needed {
		if _, err := i.Find(content); err != nil {
			errs = append(errs, err)
		}
	}
	for _, row := range Compare(i, t) {
		if row.Blocks && (!row.hardware || !otherHardware) {
			errs = append(errs, errors.New(row.Problem()))
		}
	}
	return errs
}

// factsOf is what the image's manifest says of the cluster, as a record of relocation has it.
func factsOf(c seed.ClusterInfo) relocation.Facts {
	f := relocation.Facts{Version: c.OCPVersion, Node: c.SNOHostname, ClusterName: c.ClusterName, BaseDomain: c.BaseDomain,
		ControlPlaneNodes: 1}
	addresses := c.NodeIPs
	if len(addresses) == 0 {
		addresses = []string{cmp.Or(c.NodeIP, "")}
	}
	for _, text := range addresses {
		if a, err := netip.ParseAddr(text); err == nil {
			f.Addresses = append(f.Addresses, a)
		}
	}
	for _, text := range c.MachineNetworks {
		if p, err := netip.ParsePrefix(text); err == nil {
			f.MachineNetworks = append(f.MachineNetworks, p)
		}
	}
	return f
}

// markPermanent marks errors of a registry that another try in this run would not mend.
func markPermanent(err error) error {
	for _, fatal := range []error{host.ErrRegistryDenied, host.ErrRegistryTrust, host.ErrNoImage} {
		if errors.Is(err, fatal) {
			return flow.Permanent(err)
		}
	}
	return err
}
