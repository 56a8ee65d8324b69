package seed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/secretscan"
)

// access is how a verb reaches an image.
type access struct{ authFile, caFile string }

func (a *access) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.authFile, "authfile", "", "credentials of the registry, a containers auth.json")
	cmd.Flags().StringVar(&a.caFile, "ca-file", "", "authorities to trust for the registry beside the system's, in PEM")
}

func (a *access) openImage(ctx context.Context, w Wiring, name string) (host.Repository, *image.Image, error) {
	r := host.RegistryAccess{Image: name, AuthFile: a.authFile}
	if a.caFile != "" {
		bundle, err := w.ReadInput(a.caFile)
		if err != nil {
			return nil, nil, err
		}
		r.CABundle = string(bundle)
	}
	repo, err := w.Registries.Open(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	_, at, ok := strings.Cut(name, "@")
	if !ok {
		at = seed.Tag(name)
	}
	i, err := image.Open(ctx, repo, at)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", name, err)
	}
	return repo, i, nil
}

// Inspection is the answer of inspect.
type Inspection struct {
	Image   string           `json:"image"`
	Digest  string           `json:"digest"`
	Arch    string           `json:"architecture"`
	Size    int64            `json:"size"`
	Cluster seed.ClusterInfo `json:"clusterInfo"`
	Node    seed.NodeFacts   `json:"nodeFacts"`
	Layers  []seed.Layer     `json:"layers"`
	Images  []string         `json:"images,omitempty"`
	// Secrets is what was found of secrets when the image was made.
	Secrets *secretscan.Report `json:"secrets,omitempty"`
}

func newInspectCommand(w Wiring) *cobra.Command {
	var a access
	var format string
	var images, secrets bool
	cmd := &cobra.Command{
		Use: "inspect IMAGE", Args: cobra.ExactArgs(1), Short: "Show what a seed image says of its cluster, and its sizes",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			_, i, err := a.openImage(cmd.Context(), w, args[0])
			if err != nil {
				return err
			}
			answer := Inspection{Image: args[0], Digest: i.Digest, Arch: i.Arch, Cluster: i.Cluster, Node: i.Node}
			for _, l := range i.Layers {
				answer.Layers = append(answer.Layers, seed.Layer{Content: l.Content, Digest: l.Digest, Size: l.Size})
				answer.Size += l.Size
			}
			if images {
				text, err := i.Small(cmd.Context(), image.Containers)
				if err != nil {
					return err
				}
				answer.Images = strings.Fields(string(text))
			}
			if secrets {
				text, err := i.Small(cmd.Context(), image.Secrets)
				if err != nil {
					return err
				}
				answer.Secrets = &secretscan.Report{}
				if err := json.Unmarshal(text, answer.Secrets); err != nil {
					return fmt.Errorf("read %s of the image: %w", image.Secrets, err)
				}
			}
			return output.Print(w.Out, f, answer)
		},
	}
	a.addFlags(cmd)
	outputFlag(cmd, &format)
	cmd.Flags().BoolVar(&secrets, "secrets", false, "also list which secrets were found when the image was made, and what became of each")
	cmd.Flags().BoolVar(&images, "images", false, "also list the container images that the seed had")
	return cmd
}

// Text implements output.Answer.
func (i Inspection) Text(out io.Writer) error {
	tw := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	line := func(key, value string) { fmt.Fprintf(tw, "%s\t%s\n", key, value) }
	line("Image", i.Image)
	line("Digest", i.Digest)
	line("Size", formatMiB(i.Size))
	line("OpenShift", i.Cluster.OCPVersion)
	line("Cluster", i.Cluster.ClusterName+"."+i.Cluster.BaseDomain)
	line("Node", i.Cluster.SNOHostname+" "+strings.Join(i.Cluster.NodeIPs, ", "))
	line("Machine networks", strings.Join(i.Cluster.MachineNetworks, ", "))
	line("Processors", fmt.Sprintf("%d in %d cores, reserved %q, isolated %q, %s",
		i.Node.CPUs, i.Node.Cores, i.Node.Reserved, i.Node.Isolated, i.Arch))
	line("FIPS", fmt.Sprint(i.Cluster.HasFIPS || i.Node.FIPS))
	line("Container storage", i.Cluster.ContainerStorageTarget)
	fmt.Fprintln(tw, "\nCONTENT\tSIZE\tDIGEST")
	for _, l := range i.Layers {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", l.Content, formatMiB(l.Size), l.Digest)
	}
	for _, name := range i.Images {
		fmt.Fprintln(tw, name)
	}
	if i.Secrets != nil {
		fmt.Fprintln(tw, "\nSECRETS\tRULE\tDECISION\tREASON")
		for _, f := range i.Secrets.Found {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", f.Where(), f.Rule, f.Decision, f.Reason)
		}
	}
	return tw.Flush()
}

func formatMiB(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// Verification is the answer of verify.
type Verification struct {
	Image  string `json:"image"`
	Digest string `json:"digest"`
	Layers int    `json:"layers"`
	Bytes  int64  `json:"bytes"`
	Signed bool   `json:"signed"`
	// Target compares the seed with the node; empty where that was not asked for.
	Target   []restore.Row `json:"target,omitempty"`
	Problems []string      `json:"problems,omitempty"`
}

func newVerifyCommand(w Wiring) *cobra.Command {
	var a access
	var format, key string
	var target bool
	cmd := &cobra.Command{
		Use: "verify IMAGE", Args: cobra.ExactArgs(1),
		Short: "Prove that a seed image is whole, signed, and fits this node",
		Long: "Read the whole image, prove every digest and checksum, and read its archives as a restore does. With --key the\n" +
			"signature must be that of the key; with --target the image must fit the node that this runs on: architecture,\n" +
			"processors, FIPS, container storage; the versions of OpenShift are shown. Nothing is changed.",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			v, err := verifyImage(cmd.Context(), w, a, args[0], key, target)
			if err != nil {
				return err
			}
			if err := output.Print(w.Out, f, v); err != nil {
				return err
			}
			if len(v.Problems) > 0 {
				return &verb.FinalError{Cause: fmt.Errorf("%s cannot be used as it is: %d problems", args[0], len(v.Problems))}
			}
			return nil
		},
	}
	a.addFlags(cmd)
	outputFlag(cmd, &format)
	cmd.Flags().StringVar(&key, "key", "", "public key of the signature, in PEM")
	cmd.Flags().BoolVar(&target, "target", false, "compare the seed with this node")
	return cmd
}

func verifyImage(ctx context.Context, w Wiring, a access, name, key string, target bool) (Verification, error) {
	repo, i, err := a.openImage(ctx, w, name)
	if err != nil {
		return Verification{}, err
	}
	v := Verification{Image: name, Digest: i.Digest, Layers: len(i.Layers)}
	if v.Problems, v.Bytes, err = i.Prove(ctx, w.Archives); err != nil {
		return v, err
	}
	if key != "" {
		if err := v.proveSignature(ctx, w, repo, key); err != nil {
			return v, err
		}
	}
	if target {
		v.compareTarget(i, restore.Survey(ctx, w.Files, w.Target))
	}
	return v, nil
}

// compareTarget adds the comparison, and a problem for each difference that keeps the image from being restored.
func (v *Verification) compareTarget(i *image.Image, t restore.Target) {
	v.Target = restore.Compare(i, t)
	for _, row := range v.Target {
		if row.Blocks {
			v.Problems = append(v.Problems, row.Problem())
		}
	}
}

func (v *Verification) proveSignature(ctx context.Context, w Wiring, repo host.Repository, key string) error {
	text, err := w.ReadInput(key)
	if err != nil {
		return err
	}
	public, err := image.ParsePublicKey(text)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	err = image.VerifySignature(ctx, repo, v.Digest, public)
	if errors.Is(err, image.ErrUnsigned) {
		v.Problems = append(v.Problems, err.Error())
		return nil
	}
	v.Signed = err == nil
	return err
}

// Text implements output.Answer.
func (v Verification) Text(out io.Writer) error {
	fmt.Fprintf(out, "%s\n%s, %d layers, %s read\n", v.Image, v.Digest, v.Layers, formatMiB(v.Bytes))
	if v.Signed {
		fmt.Fprintln(out, "signed by the key")
	}
	if err := v.writeTable(out); err != nil {
		return err
	}
	for _, p := range v.Problems {
		fmt.Fprintln(out, "PROBLEM: "+p)
	}
	if len(v.Problems) == 0 {
		fmt.Fprintln(out, "whole and usable")
	}
	return nil
}

// writeTable shows the comparison.
func (v Verification) writeTable(out io.Writer) error {
	if len(v.Target) == 0 {
		return nil
	}
	tw := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "FACT\tSEED\tTHIS NODE\tRESULT")
	for _, r := range v.Target {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", r.What, cmp.Or(r.Seed, "-"), cmp.Or(r.Node, "-"), r.Result())
	}
	return tw.Flush()
}
