package create

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

// collectContents stores what the system reports now, so that the image is of one moment whenever it is published.
func (g *generation) collectContents(ctx context.Context) error {
	images, err := g.Reports.Images(ctx)
	if err != nil {
		return fmt.Errorf("list the node's images: %w", err)
	}
	status, err := g.readStatus(ctx)
	if err != nil {
		return err
	}
	cluster, err := json.Marshal(g.clusterInfo())
	if err != nil {
		return fmt.Errorf("encode %s: %w", image.Manifest, err)
	}
	facts, err := seed.ReadNodeFacts(g.Files)
	if err != nil {
		return err
	}
	node, err := json.Marshal(g.request.Node.Complete(facts))
	if err != nil {
		return fmt.Errorf("encode %s: %w", image.Node, err)
	}
	contents := map[string][]byte{
		image.Containers: imageList(images, g.request), image.RPMOSTree: status, image.Manifest: cluster, image.Node: node,
	}
	for name, file := range map[string]string{
		image.MachineConfig: host.MachineConfig, image.Origin(g.booted.ID()): g.booted.Origin(), image.CLI: host.CLIInVar,
	} {
		data, err := g.Files.Read(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		contents[name] = data
	}
	for name, data := range contents {
		if err := g.Files.Write(path.Join(g.contentsDir(), name), data, 0o600); err != nil {
			return fmt.Errorf("store %s: %w", name, err)
		}
	}
	return nil
}

// clusterInfo completes what the request says of the cluster.
func (g *generation) clusterInfo() seed.ClusterInfo {
	c := g.request.Cluster
	if c.RecertImage == "" {
		c.RecertImage = g.request.RecertImage
	}
	return seed.CompleteFromNode(c, g.Files)
}

// readStatus is that of rpm-ostree; on a node without it, one of the same shape from the list of deployments.
func (g *generation) readStatus(ctx context.Context) ([]byte, error) {
	data, err := g.Reports.RPMOSTree(ctx)
	if !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return nil, fmt.Errorf("ask rpm-ostree for its status: %w", err)
		}
		return data, nil
	}
	all, err := g.Deployments.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list deployments: %w", err)
	}
	type deployment struct {
		ID       string `json:"id"`
		OSName   string `json:"osname"`
		Checksum string `json:"checksum"`
		Serial   int    `json:"serial"`
		Booted   bool   `json:"booted"`
	}
	var doc struct {
		Deployments []deployment `json:"deployments"`
	}
	for _, d := range all {
		doc.Deployments = append(doc.Deployments, deployment{d.Stateroot + "-" + d.ID(), d.Stateroot, d.Checksum, d.Serial, d.Booted})
	}
	return json.Marshal(doc)
}

// operatorIndex is the registry whose catalog images are never listed: the target has its own catalogs.
const operatorIndex = "registry.redhat.io/redhat/"

// imageList is containers.list: a pull specification on each line, by tag where there is one.
func imageList(have []host.ContainerImage, r seed.Request) []byte {
	list := slices.Clone(r.Images)
	for _, i := range have {
		switch {
		case len(i.Tags) > 0:
			list = append(list, i.Tags...)
		default:
			list = append(list, i.Digests...)
		}
	}
	if r.RecertImage != "" {
		list = append(list, r.RecertImage)
	}
	list = slices.DeleteFunc(list, func(name string) bool {
		return name == "" || slices.Contains(r.ExcludeImages, name) ||
			strings.HasPrefix(name, operatorIndex) && strings.Contains(name, "-index:")
	})
	slices.Sort(list)
	var b bytes.Buffer
	for _, name := range slices.Compact(list) {
		b.WriteString(name + "\n")
	}
	return b.Bytes()
}
