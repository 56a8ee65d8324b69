// Command crictl is the lab's stand-in for the program of that name from cri-tools, which Debian does not have. The product
// runs it to stop what the container runtime runs.
//
// It talks to the real runtime over the real interface, but has five subcommands only, and of most only the identifiers:
// "ps --quiet" lists running containers (with --name those of a name), "stop --timeout SECONDS ID..." stops them, "pods --quiet" lists pod sandboxes,
// "rmp --force ID..." stops and removes them, and "images --output json" lists images. Flags, output and exit codes are those of cri-tools.
//
// It must not import the product's packages.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// endpoint is containerd's socket.
const endpoint = "unix:///run/containerd/containerd.sock"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "crictl:", err)
		os.Exit(1)
	}
}

// client is what the subcommands share: how to reach the runtime.
type client struct{ endpoint string }

func command() *cobra.Command {
	c := &client{}
	root := &cobra.Command{Use: "crictl", Short: "A few commands of the container runtime interface",
		SilenceUsage: true, SilenceErrors: true}
	root.PersistentFlags().StringVarP(&c.endpoint, "runtime-endpoint", "r", endpoint, "the runtime's socket")
	root.AddCommand(
		c.listing("ps", "List running containers", containers),
		c.listing("pods", "List pod sandboxes", sandboxes),
		c.stop(), c.removePod(), c.images(),
	)
	return root
}

// with connects for the length of do. It sets no time limit: whoever runs the program does.
func (c *client) with(do func(cri.RuntimeServiceClient) error) error {
	return c.connected(func(conn *grpc.ClientConn) error { return do(cri.NewRuntimeServiceClient(conn)) })
}

func (c *client) connected(do func(*grpc.ClientConn) error) error {
	conn, err := grpc.NewClient(c.endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("reach the container runtime at %s: %w", c.endpoint, err)
	}
	return errors.Join(do(conn), conn.Close())
}

// image is what cri-tools prints of an image, as far as the product reads it.
type image struct {
	ID      string   `json:"id"`
	Tags    []string `json:"repoTags"`
	Digests []string `json:"repoDigests"`
}

func (c *client) images() *cobra.Command {
	format := ""
	cmd := &cobra.Command{Use: "images", Short: "List images", Args: cobra.NoArgs}
	cmd.Flags().StringVarP(&format, "output", "o", "table", "only json is known here")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if format != "json" {
			return fmt.Errorf("images: only --output json is known here, not %s", format)
		}
		return c.connected(func(conn *grpc.ClientConn) error {
			answer, err := cri.NewImageServiceClient(conn).ListImages(cmd.Context(), &cri.ListImagesRequest{})
			if err != nil {
				return fmt.Errorf("list images: %w", err)
			}
			list := map[string][]image{"images": {}}
			for _, i := range answer.GetImages() {
				list["images"] = append(list["images"], image{i.GetId(), i.GetRepoTags(), i.GetRepoDigests()})
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(list)
		})
	}
	return cmd
}

type lister func(ctx context.Context, service cri.RuntimeServiceClient, name *regexp.Regexp) ([]string, error)

func (c *client) listing(use, short string, list lister) *cobra.Command {
	quiet, name := false, ""
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "only the identifiers")
	cmd.Flags().StringVar(&name, "name", "", "only those whose name matches the regular expression")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !quiet {
			return fmt.Errorf("%s: only --quiet is known here", use)
		}
		matching, err := regexp.Compile(name)
		if err != nil {
			return fmt.Errorf("%s: --name: %w", use, err)
		}
		return c.with(func(service cri.RuntimeServiceClient) error {
			ids, err := list(cmd.Context(), service, matching)
			for _, id := range ids {
				fmt.Fprintln(cmd.OutOrStdout(), id)
			}
			return err
		})
	}
	return cmd
}

func containers(ctx context.Context, service cri.RuntimeServiceClient, name *regexp.Regexp) ([]string, error) {
	running := &cri.ContainerFilter{State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING}}
	answer, err := service.ListContainers(ctx, &cri.ListContainersRequest{Filter: running})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	matching := slices.DeleteFunc(answer.GetContainers(), func(c *cri.Container) bool { return !name.MatchString(c.GetMetadata().GetName()) })
	return identifiers(matching), nil
}

func sandboxes(ctx context.Context, service cri.RuntimeServiceClient, name *regexp.Regexp) ([]string, error) {
	answer, err := service.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return nil, fmt.Errorf("list pod sandboxes: %w", err)
	}
	matching := slices.DeleteFunc(answer.GetItems(), func(p *cri.PodSandbox) bool { return !name.MatchString(p.GetMetadata().GetName()) })
	return identifiers(matching), nil
}

func identifiers[T interface{ GetId() string }](list []T) []string {
	ids := make([]string, 0, len(list))
	for _, item := range list {
		ids = append(ids, item.GetId())
	}
	return ids
}

func (c *client) stop() *cobra.Command {
	var grace int64
	cmd := &cobra.Command{Use: "stop ID...", Short: "Stop containers", Args: cobra.MinimumNArgs(1)}
	cmd.Flags().Int64VarP(&grace, "timeout", "t", 0, "seconds until a container that goes on is killed")
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		return c.with(func(service cri.RuntimeServiceClient) error {
			return each(cmd.OutOrStdout(), ids, func(id string) error {
				_, err := service.StopContainer(cmd.Context(), &cri.StopContainerRequest{ContainerId: id, Timeout: grace})
				return err
			})
		})
	}
	return cmd
}

func (c *client) removePod() *cobra.Command {
	force := false
	cmd := &cobra.Command{Use: "rmp ID...", Short: "Remove pod sandboxes", Args: cobra.MinimumNArgs(1)}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "stop them before, with what runs in them")
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		return c.with(func(service cri.RuntimeServiceClient) error {
			return each(cmd.OutOrStdout(), ids, func(id string) error { return remove(cmd.Context(), service, id, force) })
		})
	}
	return cmd
}

// remove refuses a sandbox that is still in use unless it is forced, as cri-tools does.
func remove(ctx context.Context, service cri.RuntimeServiceClient, id string, force bool) error {
	if force {
		if _, err := service.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
			return err
		}
	} else {
		answer, err := service.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: id})
		if err != nil {
			return err
		}
		if answer.GetStatus().GetState() == cri.PodSandboxState_SANDBOX_READY {
			return errors.New("the sandbox is running, stop it or use --force")
		}
	}
	_, err := service.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: id})
	return err
}

// each goes on after a failure, and tells which identifiers were done.
func each(out io.Writer, ids []string, do func(id string) error) error {
	var errs []error
	for _, id := range ids {
		if err := do(id); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", id, err))
			continue
		}
		fmt.Fprintln(out, id)
	}
	return errors.Join(errs...)
}
