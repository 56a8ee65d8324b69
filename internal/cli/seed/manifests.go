package seed

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
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

func manifests(w Wiring) *cobra.Command {
	var seedImage, recertImage, authFile, hub string
	cmd := &cobra.Command{
		Use: "secret", Args: cobra.NoArgs, Short: "Print the seedgen Secret and the SeedGenerator for 'oc apply -f -'",
		Long: "Print the manifests of the Secret seedgen and of the SeedGenerator seedimage. The output has the credentials: pipe it\n" +
			"to 'oc apply -f -', or keep it where only you can read it.",
		Example: "  lca-cli seed secret --seed-image quay.io/team/seed:4.18 --authfile auth.json | oc apply -f -",
		RunE: func(_ *cobra.Command, _ []string) error {
			secret, err := secretOf(w, authFile, hub)
			if err != nil {
				return err
			}
			spec := map[string]string{"seedImage": seedImage}
			if recertImage != "" {
				spec["recertImage"] = recertImage
			}
			generator := object{
				APIVersion: "lca.openshift.io/v1", Kind: "SeedGenerator", Metadata: map[string]string{"name": "seedimage"}, Spec: spec,
			}
			for _, o := range []object{secret, generator} {
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
