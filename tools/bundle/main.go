package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

func main() {
	from := flag.String("manifests", "dist/install-ipam.yaml", "the file of the operator role, as it is released")
	version := flag.String("version", "", "version of the release, semantic, without v")
	out := flag.String("out", "dist/bundle", "folder for the bundle")
	samples := flag.String("samples", "config/samples", "folder with examples of the kinds")
	flag.Parse()
	if err := run(*from, *version, *out, *samples); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func run(from, version, out, samples string) error {
	objects, err := read(from)
	if err != nil {
		return err
	}
	examples, err := examplesIn(samples)
	if err != nil {
		return err
	}
	files, err := bundleOf(objects, examples, version)
	if err != nil {
		return err
	}
	if err := write(out, files); err != nil {
		return err
	}
	return validate(filepath.Join(out, "manifests"))
}

func read(file string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the manifests: %w", err)
	}
	var all []*unstructured.Unstructured
	for docs := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		o := &unstructured.Unstructured{}
		err := docs.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", file, err)
		}
		all = append(all, o)
	}
}

// examplesIn reads one example of each kind of the address pools.
func examplesIn(folder string) ([]map[string]any, error) {
	objects, err := read(filepath.Join(folder, "ipam_metal3.yaml"))
	if err != nil {
		return nil, err
	}
	var all []map[string]any
	had := map[string]bool{}
	for _, o := range objects {
		if !had[o.GetKind()] && o.GroupVersionKind().Group == "ipam.metal3.io" {
			had[o.GetKind()] = true
			all = append(all, o.Object)
		}
	}
	return all, nil
}

func write(out string, files map[string]any) error {
	if err := os.RemoveAll(out); err != nil {
		return fmt.Errorf("remove the bundle from before: %w", err)
	}
	for name, content := range files {
		data, isText := content.(string)
		if !isText {
			text, err := yaml.Marshal(content)
			if err != nil {
				return fmt.Errorf("encode %s: %w", name, err)
			}
			data = string(text)
		}
		file := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("make the folder of the bundle: %w", err)
		}
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			return fmt.Errorf("write the bundle: %w", err)
		}
	}
	return nil
}

// validate has OLM's own library judge the bundle. Warnings are printed, errors refuse it. Its validators that pull the image are left out:
// a release is made before the image is pushed.
func validate(folder string) error {
	bundle, err := manifests.GetBundleFromDir(folder)
	if err != nil {
		return fmt.Errorf("read the bundle back: %w", err)
	}
	var refused []string
	validators := validator.Validators{validation.ClusterServiceVersionValidator, validation.CustomResourceDefinitionValidator,
		validation.BundleValidator, validation.OperatorHubValidator, validation.GoodPracticesValidator}
	for _, result := range validators.Validate(bundle.ObjectsToValidate()...) {
		for _, w := range result.Warnings {
			fmt.Fprintln(os.Stderr, "bundle: warning:", w.Error())
		}
		for _, e := range result.Errors {
			refused = append(refused, e.Error())
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("the bundle is not valid: %s", strings.Join(refused, "; "))
	}
	return nil
}
