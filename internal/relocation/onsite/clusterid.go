package onsite

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// ensureClusterID makes the ID of a cluster that would else have the seed's: all that are restored from one image start with that.
// It is stored before it is used, so that a run that continues gives the cluster the same one.
func (p *Reconfiguration) ensureClusterID(c siteconfig.SiteConfig) error {
	if !p.needsClusterID(c) {
		return nil
	}
	if _, err := p.Files.Stat(relocation.ClusterIDFile); !errors.Is(err, fs.ErrNotExist) {
		return err // nil, or it names the file
	}
	if err := p.Files.Write(relocation.ClusterIDFile, []byte(p.NewClusterID()), 0o600); err != nil {
		return fmt.Errorf("store the cluster's new ID: %w", err)
	}
	return nil
}

func (p *Reconfiguration) needsClusterID(c siteconfig.SiteConfig) bool {
	return p.Record.Running != nil && (c.Identity == nil || c.Identity.ClusterID == "")
}

// withClusterID adds the ID that was made to the configuration of a site that names none.
func (p *Reconfiguration) withClusterID(c siteconfig.SiteConfig) (siteconfig.SiteConfig, error) {
	if !p.needsClusterID(c) {
		return c, nil
	}
	id, err := p.Files.Read(relocation.ClusterIDFile)
	if err != nil {
		return c, fmt.Errorf("read the cluster's new ID: %w", err)
	}
	identity := siteconfig.Identity{}
	if c.Identity != nil {
		identity = *c.Identity
	}
	identity.ClusterID = string(id)
	c.Identity = &identity
	return c, nil
}
