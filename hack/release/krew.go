package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// plugin is a manifest of krew, kubectl's own plugin manager, as far as it is used.
type plugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       pluginSpec        `json:"spec"`
}

type pluginSpec struct {
	Version          string           `json:"version"`
	Homepage         string           `json:"homepage"`
	ShortDescription string           `json:"shortDescription"`
	Description      string           `json:"description"`
	Platforms        []pluginPlatform `json:"platforms"`
}

type pluginPlatform struct {
	Selector map[string]map[string]string `json:"selector"`
	URI      string                       `json:"uri"`
	SHA256   string                       `json:"sha256"`
	Bin      string                       `json:"bin"`
}

// archive is the name of the plugin's archive for a platform.
var archive = regexp.MustCompile(`^kubectl-lca-([a-z0-9]+)-([a-z0-9]+)\.tar\.gz$`)

// writeKrew writes lca.yaml beside the archives of kubectl-lca that are in out.
func writeKrew(out, version, url string) error {
	files, err := os.ReadDir(out)
	if err != nil {
		return fmt.Errorf("list the release: %w", err)
	}
	p := plugin{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "lca"},
		Spec: pluginSpec{Version: "v" + semver(version), Homepage: url,
			ShortDescription: "Change the address of a single-node cluster",
			Description:      "Changes address, gateway, DNS servers and VLAN of a single-node cluster, and rolls it back."}}
	for _, f := range files {
		m := archive.FindStringSubmatch(f.Name())
		if m == nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(out, f.Name()))
		if err != nil {
			return fmt.Errorf("read an archive: %w", err)
		}
		sum := sha256.Sum256(data)
		p.Spec.Platforms = append(p.Spec.Platforms, pluginPlatform{
			Selector: map[string]map[string]string{"matchLabels": {"os": m[1], "arch": m[2]}},
			URI:      url + "/" + f.Name(), SHA256: hex.EncodeToString(sum[:]), Bin: program(m[1])})
	}
	if len(p.Spec.Platforms) == 0 {
		return fmt.Errorf("%s has no archive of kubectl-lca", out)
	}
	text, err := yaml.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode the manifest of krew: %w", err)
	}
	if err := os.WriteFile(filepath.Join(out, "lca.yaml"), text, 0o644); err != nil {
		return fmt.Errorf("write the manifest of krew: %w", err)
	}
	return nil
}

// program is the plugin's name in the archive for a system.
func program(system string) string {
	if system == "windows" {
		return "kubectl-lca.exe"
	}
	return "kubectl-lca"
}

var semantic = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?)$`)

// semver makes a semantic version, without v, of what git describes: a commit without a tag is a pre-release of 0.0.0.
func semver(version string) string {
	if m := semantic.FindStringSubmatch(version); m != nil {
		return m[1]
	}
	plain := strings.Trim(regexp.MustCompile(`[^0-9A-Za-z-]+`).ReplaceAllString(version, "-"), "-")
	return "0.0.0-g" + plain
}

// writeNotes writes NOTES.md, the page of the release: what the changelog says of the version, else of what is not released yet.
func writeNotes(changelog, version, out string) error {
	text, err := os.ReadFile(changelog)
	if err != nil {
		return fmt.Errorf("read the changelog: %w", err)
	}
	section := sectionOf(string(text), semver(version))
	if section == "" {
		section = sectionOf(string(text), "Unreleased")
	}
	if section == "" {
		return fmt.Errorf("%s has no section %s and none that is called Unreleased", changelog, semver(version))
	}
	notes := "# Lifecycle Agent " + version + "\n" + section + "\nHow to install and upgrade: docs/install.md. Checksums: SHA256SUMS.\n"
	if err := os.WriteFile(filepath.Join(out, "NOTES.md"), []byte(notes), 0o644); err != nil {
		return fmt.Errorf("write the notes of the release: %w", err)
	}
	return nil
}

// sectionOf is the text below the heading "## NAME", to the next one.
func sectionOf(text, name string) string {
	for _, section := range strings.Split("\n"+text, "\n## ")[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		if first, _, _ := strings.Cut(heading, " "); strings.Trim(first, "[]") == name {
			return body
		}
	}
	return ""
}
