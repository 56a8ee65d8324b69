// Command release writes the manifests that are handed out, one file for each kind of cluster, with the image's name put in, the manifest
// of krew, and the page of the release. "make release" runs it in the root of the repository.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// manifests are the files of a release, with the folder below config/release that each is built from.
var manifests = map[string]string{
	"install-openshift.yaml":  "openshift",
	"install-ipam.yaml":       "ipam",
	"install-kubernetes.yaml": "kubernetes",
	"components.yaml":         "clusterctl",
}

func main() {
	image := flag.String("image", "", "name of the agent's image, with a tag or digest")
	out := flag.String("out", "dist", "folder for the files")
	version := flag.String("version", "", "version of the release, as git describes it")
	krew := flag.Bool("krew", false, "write the manifest of krew for the archives in the folder, and nothing else")
	url := flag.String("url", "", "where the archives will be downloaded from")
	notes := flag.String("notes", "", "write the page of the release from this changelog, and nothing else")
	semantic := flag.String("semver", "", "print this version as a semantic one, and do nothing else")
	flag.Parse()
	var err error
	switch {
	case *semantic != "":
		fmt.Println(semver(*semantic))
	case *krew:
		err = writeKrew(*out, *version, *url)
	case *notes != "":
		err = writeNotes(*notes, *version, *out)
	default:
		err = run("config", *image, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(config, image, out string) error {
	for file, folder := range manifests {
		text, err := build(filepath.Join(config, "release", folder), image)
		if err != nil {
			return fmt.Errorf("build %s: %w", file, err)
		}
		if err := os.WriteFile(filepath.Join(out, file), text, 0o644); err != nil {
			return fmt.Errorf("write a manifest: %w", err)
		}
	}
	const metadata = "metadata.yaml"
	text, err := os.ReadFile(filepath.Join(config, "release", "clusterctl", metadata))
	if err != nil {
		return fmt.Errorf("read the contract of the release: %w", err)
	}
	if err := os.WriteFile(filepath.Join(out, metadata), text, 0o644); err != nil {
		return fmt.Errorf("write the contract of the release: %w", err)
	}
	return nil
}

// build is what kustomize makes of a folder with the image's name replaced, as "kustomize edit set image" would.
func build(folder, image string) ([]byte, error) {
	replaced, err := parseImage(image)
	if err != nil {
		return nil, err
	}
	overlay, err := overlayOf(folder, replaced)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(overlay)
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // namespaces and definitions first
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), overlay)
	if err != nil {
		return nil, fmt.Errorf("run kustomize: %w", err)
	}
	return resources.AsYaml()
}

// overlayOf writes a kustomization over folder. Kustomize takes relative paths alone.
func overlayOf(folder string, image types.Image) (string, error) {
	overlay, err := os.MkdirTemp(filepath.Dir(folder), ".release-")
	if err != nil {
		return "", fmt.Errorf("make an overlay: %w", err)
	}
	text, err := yaml.Marshal(map[string]any{"resources": []string{"../" + filepath.Base(folder)}, "images": []types.Image{image}})
	if err == nil {
		err = os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), text, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("write an overlay: %w", err)
	}
	return overlay, nil
}

func parseImage(image string) (types.Image, error) {
	parsed := types.Image{Name: "lifecycle-agent"}
	if name, digest, found := strings.Cut(image, "@"); found {
		parsed.NewName, parsed.Digest = name, digest
		return parsed, nil
	}
	colon := strings.LastIndex(image, ":")
	if colon < 1 || strings.Contains(image[colon:], "/") {
		return parsed, fmt.Errorf("image %q has neither a tag nor a digest", image)
	}
	parsed.NewName, parsed.NewTag = image[:colon], image[colon+1:]
	return parsed, nil
}
