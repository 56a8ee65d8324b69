package seed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/create"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
)

// creation is a request by flags, on a node without its API.
type creation struct {
	image, recertImage         string
	authFile, caFile, manifest string
	key, password              string
	decisions                  string
}

func newCreateCommand(w Wiring) *cobra.Command {
	var c creation
	cmd := &cobra.Command{
		Use: "create", Args: cobra.NoArgs,
		Short: "Make a seed image, without the API or as the agent requested it",
		Long: "Make a seed image of this node and follow it, step by step. With --image no API is needed: the flags are the request,\n" +
			"and lca-generate-seed-image.service carries it out, which continues if this command is interrupted. The cluster is down\n" +
			"while the last differences are copied, and runs afterwards. Without --image this continues what was requested: so the\n" +
			"unit runs it, and so an administrator continues after a reboot.\n\n" +
			"'lca-cli status --watch' or 'journalctl -fu lca-generate-seed-image' show it from elsewhere; 'lca-cli seed abort' ends it.",
		Example: "  lca-cli seed create --image registry.example.com/seeds/sno:4.20.3 --authfile auth.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.image == "" {
				return w.createHere(cmd.Context())
			}
			return c.createDetached(cmd.Context(), w)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.image, "image", "", "pull specification to publish the image as, with a tag")
	f.StringVar(&c.authFile, "authfile", "", "credentials that may write to the registry, a containers auth.json")
	f.StringVar(&c.caFile, "registry-ca", "", "authorities to trust for the registry beside the node's, in PEM")
	f.StringVar(&c.recertImage, "recert-image", "", "image of recert for nodes that restore the seed image")
	f.StringVar(&c.manifest, "manifest", "", "what the image says of the cluster, as its manifest.json; the node fills what it knows")
	f.StringVar(&c.decisions, "secret-decisions", "",
		"decisions about secrets that are found, as spec.secretDecisions of a SeedGenerator, in YAML or JSON")
	f.StringVar(&c.key, "signing-key", "", "private key of cosign to sign the image with, in PEM")
	f.StringVar(&c.password, "signing-password-file", "", "file with the password of the key")
	return cmd
}

// createDetached stores the request and has the unit carry it out.
func (c creation) createDetached(ctx context.Context, w Wiring) error {
	node, _, err := w.Node(ctx, false)
	if err != nil {
		return err
	}
	r, err := c.acceptRequest(ctx, w, node)
	if err != nil {
		return w.Verdict("seed create", err)
	}
	err = w.CarryOut(ctx, verb.Errand{
		Kind: create.Kind(node).Facts(), Node: node.Node, Operation: r.OperationID,
		Description: "Lifecycle Agent: generate seed image", Args: []string{"seed", "create"},
	}, "make the seed image "+r.SeedImage)
	if err != nil {
		return err
	}
	o, err := seed.ReadOutcome(node.Files)
	if err != nil {
		return fmt.Errorf("read what was published: %w", err)
	}
	if report, err := seed.ReadSecretReport(node.Files); err == nil && report.OperationID == r.OperationID {
		if _, err := fmt.Fprintf(w.Out, "secrets: %s\n", report.Summary()); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%s is published as %s: %s, of which %s were sent; the cluster was down for %.0f s\n",
		o.Image, o.Digest, formatMiB(o.Size), formatMiB(o.Sent), float64(o.Downtime))
	for _, warning := range o.Warnings() {
		text += "warning: " + warning + "\n"
	}
	_, err = io.WriteString(w.Out, text)
	return err
}

// acceptRequest holds the node while the request is judged and stored: another operation must not begin meanwhile.
func (c creation) acceptRequest(ctx context.Context, w Wiring, node create.Ports) (seed.Request, error) {
	release, err := w.Take(ctx, seed.FlowCreate, "seed create")
	if err != nil {
		return seed.Request{}, err
	}
	defer release()
	return c.storeRequest(ctx, w, node)
}

// storeRequest stores what is asked for, once all files are read, and the request last. One that is under way is not replaced.
func (c creation) storeRequest(ctx context.Context, w Wiring, node create.Ports) (seed.Request, error) {
	if rec, err := record.Read(node.Files); err != nil || rec != nil {
		return seed.Request{}, operation.Refuse("a SeedGenerator has this node make an image: " +
			"see 'oc get seedgenerator' and 'lca-cli status'")
	}
	if have, err := seed.ReadRequest(node.Files); err == nil {
		return have, operation.Refuse("operation %s makes %s: continue it with 'lca-cli seed create', or end it with 'lca-cli seed abort'",
			have.OperationID, have.SeedImage)
	}
	r := seed.Request{OperationID: w.NewID(), SeedImage: c.image, RecertImage: c.recertImage, Sign: c.key != ""}
	if err := c.completeRequest(w, &r); err != nil {
		return r, err
	}
	texts := map[string][]byte{}
	for to, from := range map[string]string{seed.AuthFile: c.authFile, seed.SigningKeyFile: c.key, seed.SigningPasswordFile: c.password} {
		if from == "" {
			continue
		}
		text, err := w.ReadInput(from)
		if err != nil {
			return r, fmt.Errorf("read %s: %w", from, err)
		}
		texts[to] = text
	}
	for to, text := range texts {
		if err := node.Files.Write(to, text, 0o600); err != nil {
			return r, fmt.Errorf("store %s for the unit: %w", to, err)
		}
	}
	if c.authFile != "" {
		r.AuthFile = seed.AuthFile
	}
	return r, seed.WriteRequest(ctx, operation.Intake{Files: node.Files, Boots: node.Power, Log: node.Log}, r)
}

// completeRequest completes a request that nothing is stored of yet.
func (c creation) completeRequest(w Wiring, r *seed.Request) error {
	if c.caFile != "" {
		bundle, err := w.ReadInput(c.caFile)
		if err != nil {
			return err
		}
		r.CABundle = string(bundle)
	}
	if c.decisions != "" {
		text, err := w.ReadInput(c.decisions)
		if err != nil {
			return err
		}
		if r.Rulings, err = readDecisions(text); err != nil {
			return operation.Refuse("%s: %w", c.decisions, err)
		}
	}
	if c.manifest != "" {
		text, err := w.ReadInput(c.manifest)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &r.Cluster); err != nil {
			return fmt.Errorf("decode %s: %w", c.manifest, err)
		}
	}
	return r.Validate()
}

func newAbortCommand(w Wiring) *cobra.Command {
	return &cobra.Command{
		Use: "abort", Args: cobra.NoArgs,
		Short: "Give up an unfinished seed image, or a restore that has not rebooted, and remove what it made",
		Long: "Give up an unfinished seed image, or a restore that has not rebooted, and remove what it made. One that runs is stopped,\n" +
			"and a cluster that it has stopped is started again. A seed image that is published stays.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, found, err := restore.ReadRequest(w.Files); err != nil || found {
				return w.abortRestore(cmd.Context()) // a damaged request, too
			}
			return w.abortCreation(cmd.Context())
		},
	}
}

func (w Wiring) createHere(ctx context.Context) error {
	node, with, err := w.Node(ctx, true)
	if err != nil {
		return err
	}
	return w.RunHere(ctx, create.Kind(node).Holder(node.Files), "seed create", func(ctx context.Context) error {
		return create.Run(ctx, node, with)
	})
}

// abortCreation stops the unit, which ends what it can, and does the rest.
func (w Wiring) abortCreation(ctx context.Context) error {
	node, with, err := w.Node(ctx, true)
	if err != nil {
		return err
	}
	kind := create.Kind(node)
	r, found, damage, err := kind.FindToEnd(ctx, operation.Intake{Files: node.Files, Boots: node.Power, Log: node.Log})
	if err != nil {
		return errors.Join(damage, err)
	}
	release, err := w.TakeFromUnit(ctx, node.Units, kind.Unit, kind.Holder(node.Files), "seed abort")
	if err != nil {
		return err
	}
	defer release()
	err = create.Abort(ctx, node, with)
	if found && errors.Is(err, seed.ErrNoRequest) {
		err = nil // the unit did all of it
	}
	if err != nil {
		return w.Verdict("seed abort", err)
	}
	p, err := seed.ReadProgress(node.Files, r.OperationID)
	if err != nil {
		return err
	}
	end := "is given up"
	if p.Published() {
		end = "is published and stays"
	}
	_, err = fmt.Fprintf(w.Out, "the seed image %s %s\n", cmp.Or(r.SeedImage, "of operation "+r.OperationID), end)
	return err
}
