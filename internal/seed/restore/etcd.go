package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

// fetchEtcd fetches the image of the seed's etcd while the network of now works: in the restored system recert runs it over
// the cluster's data, and pulls nothing. A node may have etcd as a program instead, so that a failure is only logged; where
// there is none of both, recert fails and the node goes back.
func (m *restoration) fetchEtcd(ctx context.Context) error {
	_, target, err := m.request.staterootPair().Deployments(ctx, m.Deployments)
	if err != nil {
		return err
	}
	manifest, err := m.Files.Read(target.InDeployment(host.EtcdPodManifest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the image's %s: %w", host.EtcdPodManifest, err)
	}
	name := etcdImage(manifest)
	if name == "" {
		return nil
	}
	if err := m.writePullSecret(); err != nil {
		return err
	}
	if err := m.RecertImages.Fetch(ctx, host.RecertImage{Name: name, AuthFile: seed.RestorePullFile}); err != nil {
		m.Log.Warn("the image of the seed's etcd cannot be fetched; without it, or etcd as a program, the restored system goes back",
			"op", m.request.OperationID, "image", name, "error", err)
	}
	return m.wipePullSecret()
}

// writePullSecret stores the site's pull secret by itself, as podman reads it.
func (m *restoration) writePullSecret() error {
	site, err := m.Files.Read(seed.RestoreSiteFile)
	if err != nil {
		return fmt.Errorf("read the site configuration: %w", err)
	}
	c, _ := siteconfig.Decode(site)
	if err := m.Files.Write(seed.RestorePullFile, []byte(c.PullSecret.Reveal()), 0o600); err != nil {
		return fmt.Errorf("write the pull secret: %w", err)
	}
	return nil
}

func (m *restoration) wipePullSecret() error {
	if err := m.Files.Remove(seed.RestorePullFile); err != nil {
		return fmt.Errorf("wipe the pull secret: %w", err)
	}
	return nil
}

// etcdImage is the image of container "etcd" in a static pod's manifest; empty where it names none.
func etcdImage(manifest []byte) string {
	var pod struct {
		Spec struct {
			Containers []struct{ Name, Image string } `json:"containers"`
		} `json:"spec"`
	}
	if yaml.Unmarshal(manifest, &pod) != nil {
		return ""
	}
	for _, c := range pod.Spec.Containers {
		if c.Name == "etcd" {
			return c.Image
		}
	}
	return ""
}
