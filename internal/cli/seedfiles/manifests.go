// Package seedfiles holds the verb of "kubectl lca seed", which writes the manifests of a request on any machine. cmd/kubectl-lca
// builds it; it must not import an adapter.
package seedfiles

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

// operatorNamespace is where the agent looks for the Secret.
const operatorNamespace = "openshift-lifecycle-agent"

// object is what the manifests have in common.
type object struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Type       string            `json:"type,omitempty"`
	Data       map[string]string `json:"data,omitempty"`
	Spec       map[string]string `json:"spec,omitempty"`
}

// Wiring is what main gives the verb.
type Wiring struct {
	Out io.Writer
	// ReadInput reads a file that the caller named.
	ReadInput func(path string) ([]byte, error)
}

// Command is "seed" with its verb.
func Command(w Wiring) *cobra.Command {
	cmd := &cobra.Command{Use: "seed", Short: "Write the manifests by which a seed image is made"}
	cmd.AddCommand(newSecretCommand(w))
	return cmd
}

func newSecretCommand(w Wiring) *cobra.Command {
	var seedImage, recertImage, authFile, hub, key, password string
	cmd := &cobra.Command{
		Use: "secret", Args: cobra.NoArgs, Short: "Print the seedgen Secret and the SeedGenerator for 'oc apply -f -'",
		Long: "Print the manifests of the Secret seedgen and of the SeedGenerator seedimage. The output has the credentials: pipe it\n" +
			"to 'oc apply -f -', or keep it where only you can read it.",
		Example: "  kubectl lca seed secret --seed-image quay.io/team/seed:4.18 --authfile auth.json | oc apply -f -",
		RunE: func(_ *cobra.Command, _ []string) error {
			if err := (seed.Request{OperationID: "none", SeedImage: seedImage}).Validate(); err != nil {
				return &commandline.UsageError{Cause: fmt.Errorf("--seed-image: %w", err)}
			}
			secret, err := secretOf(w, authFile, hub)
			if err != nil {
				return err
			}
			objects, spec := []object{secret}, map[string]string{"seedImage": seedImage}
			if key != "" {
				signing, err := signingSecretOf(w, key, password)
				if err != nil {
					return err
				}
				objects, spec["signingSecret"] = append(objects, signing), signing.Metadata["name"]
			}
			if recertImage != "" {
				spec["recertImage"] = recertImage
			}
			generator := object{
				APIVersion: "lca.openshift.io/v1", Kind: "SeedGenerator", Metadata: map[string]string{"name": "seedimage"}, Spec: spec,
			}
			for _, o := range append(objects, generator) {
				data, err := yaml.Marshal(o)
				if err != nil {
					return fmt.Errorf("encode the %s: %w", o.Kind, err)
				}
				fmt.Fprintf(w.Out, "---\n%s", data)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&seedImage, "seed-image", "", "pull specification to publish the image as (required)")
	cmd.Flags().StringVar(&recertImage, "recert-image", "", "image of recert for nodes that restore the seed image")
	cmd.Flags().StringVar(&authFile, "authfile", "", "credentials that may write to the registry, a containers auth.json (required)")
	cmd.Flags().StringVar(&hub, "hub-kubeconfig", "", "kubeconfig of the hub, to detach the cluster from it meanwhile")
	cmd.Flags().StringVar(&key, "signing-key", "", "private key of cosign to sign the image with, in PEM")
	cmd.Flags().StringVar(&password, "signing-password-file", "", "file with the password of the key")
	_ = cmd.MarkFlagRequired("seed-image")
	_ = cmd.MarkFlagRequired("authfile")
	return cmd
}

func secretOf(w Wiring, authFile, hub string) (object, error) {
	o := object{
		APIVersion: "v1", Kind: "Secret", Type: "Opaque", Data: map[string]string{},
		Metadata: map[string]string{"name": "seedgen", "namespace": operatorNamespace},
	}
	auth, err := w.ReadInput(authFile)
	if err != nil {
		return o, err
	}
	var doc struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	if json.Unmarshal(auth, &doc) != nil || len(doc.Auths) == 0 {
		return o, fmt.Errorf("%s is not a containers auth.json: it has no auths; make one with 'podman login --authfile'", authFile)
	}
	o.Data["seedAuth"] = base64.StdEncoding.EncodeToString(auth)
	if hub == "" {
		return o, nil
	}
	config, err := w.ReadInput(hub)
	if err != nil {
		return o, err
	}
	if err := looksLikeKubeconfig(config); err != nil {
		return o, fmt.Errorf("%s: %w", hub, err)
	}
	o.Data["hubKubeconfig"] = base64.StdEncoding.EncodeToString(config)
	return o, nil
}

// signingSecretOf is the Secret of a signing key that the agent may read.
func signingSecretOf(w Wiring, key, password string) (object, error) {
	o := object{
		APIVersion: "v1", Kind: "Secret", Type: "Opaque", Data: map[string]string{},
		Metadata: map[string]string{"name": "seedgen-signing", "namespace": operatorNamespace},
	}
	text, err := w.ReadInput(key)
	if err != nil {
		return o, err
	}
	var secret []byte
	if password != "" {
		if secret, err = w.ReadInput(password); err != nil {
			return o, err
		}
		o.Data["cosign.password"] = base64.StdEncoding.EncodeToString(secret)
	}
	if _, err := image.ParseKey(text, secret); err != nil {
		return o, fmt.Errorf("%s: %w", key, err)
	}
	o.Data["cosign.key"] = base64.StdEncoding.EncodeToString(text)
	return o, nil
}

func looksLikeKubeconfig(data []byte) error {
	var doc struct {
		Kind     string           `json:"kind"`
		Clusters []map[string]any `json:"clusters"`
	}
	if yaml.Unmarshal(data, &doc) != nil || doc.Kind != "Config" || len(doc.Clusters) == 0 {
		return errors.New("it is not a kubeconfig: it has no clusters")
	}
	return nil
}
