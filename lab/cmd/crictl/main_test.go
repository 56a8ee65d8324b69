package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtime is a container runtime with one running container and one pod; it notes what it is told to do.
type runtime struct {
	cri.UnimplementedRuntimeServiceServer
	told []string
}

func (r *runtime) ListContainers(_ context.Context, in *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	if in.GetFilter().GetState().GetState() != cri.ContainerState_CONTAINER_RUNNING {
		return nil, errors.New("asked for containers that do not run")
	}
	return &cri.ListContainersResponse{Containers: []*cri.Container{{Id: "c1"}}}, nil
}

func (r *runtime) ListPodSandbox(context.Context, *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	return &cri.ListPodSandboxResponse{Items: []*cri.PodSandbox{{Id: "p1"}}}, nil
}

func (r *runtime) StopContainer(_ context.Context, in *cri.StopContainerRequest) (*cri.StopContainerResponse, error) {
	if in.ContainerId == "gone" {
		return nil, errors.New("no such container")
	}
	if in.Timeout == 5 {
		r.told = append(r.told, "stop "+in.ContainerId)
	}
	return &cri.StopContainerResponse{}, nil
}

func (r *runtime) StopPodSandbox(_ context.Context, in *cri.StopPodSandboxRequest) (*cri.StopPodSandboxResponse, error) {
	r.told = append(r.told, "stop "+in.PodSandboxId)
	return &cri.StopPodSandboxResponse{}, nil
}

func (r *runtime) RemovePodSandbox(_ context.Context, in *cri.RemovePodSandboxRequest) (*cri.RemovePodSandboxResponse, error) {
	r.told = append(r.told, "remove "+in.PodSandboxId)
	return &cri.RemovePodSandboxResponse{}, nil
}

func (r *runtime) PodSandboxStatus(context.Context, *cri.PodSandboxStatusRequest) (*cri.PodSandboxStatusResponse, error) {
	return &cri.PodSandboxStatusResponse{Status: &cri.PodSandboxStatus{State: cri.PodSandboxState_SANDBOX_READY}}, nil
}

// TestCommandLinesOfTheProduct runs the program's command lines, long and short, against a runtime on a socket.
func TestCommandLinesOfTheProduct(t *testing.T) {
	for name, c := range map[string]struct {
		args    []string
		out     string
		told    []string
		failure string
	}{
		"ps":           {args: []string{"ps", "--quiet"}, out: "c1\n"},
		"ps -q":        {args: []string{"ps", "-q"}, out: "c1\n"},
		"pods":         {args: []string{"pods", "--quiet"}, out: "p1\n"},
		"stop":         {args: []string{"stop", "--timeout", "5", "c1"}, out: "c1\n", told: []string{"stop c1"}},
		"stop several": {args: []string{"stop", "-t", "5", "gone", "c1"}, out: "c1\n", told: []string{"stop c1"}, failure: "gone: "},
		"rmp":          {args: []string{"rmp", "--force", "p1"}, out: "p1\n", told: []string{"stop p1", "remove p1"}},
		"rmp unforced": {args: []string{"rmp", "p1"}, failure: "use --force"},
		"table":        {args: []string{"ps"}, failure: "only --quiet"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &runtime{}
			out, err := run(t, r, c.args...)
			if c.failure != "" {
				require.ErrorContains(t, err, c.failure)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, c.out, out)
			require.Equal(t, c.told, r.told)
		})
	}
}

// store is the runtime's service of images.
type store struct {
	cri.UnimplementedImageServiceServer
}

func (store) ListImages(context.Context, *cri.ListImagesRequest) (*cri.ListImagesResponse, error) {
	return &cri.ListImagesResponse{Images: []*cri.Image{
		{Id: "sha256:1", RepoTags: []string{"localhost/lab/pause:1"}, RepoDigests: []string{"localhost/lab/pause@sha256:2"}},
	}}, nil
}

func TestImages(t *testing.T) {
	out, err := run(t, &runtime{}, "images", "--output", "json")
	require.NoError(t, err)
	require.JSONEq(t, `{"images": [{"id": "sha256:1", "repoTags": ["localhost/lab/pause:1"], "repoDigests": ["localhost/lab/pause@sha256:2"]}]}`, out)
	_, err = run(t, &runtime{}, "images")
	require.ErrorContains(t, err, "only --output json")
}

func TestNoRuntimeIsAnError(t *testing.T) {
	cmd := command()
	cmd.SetArgs([]string{"--runtime-endpoint", "unix://" + t.TempDir() + "/none", "ps", "-q"})
	require.ErrorContains(t, cmd.Execute(), "list containers")
}

func run(t *testing.T, r *runtime, args ...string) (string, error) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "cri.sock")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, r)
	cri.RegisterImageServiceServer(server, store{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	var out bytes.Buffer
	cmd := command()
	cmd.SetOut(&out)
	cmd.SetArgs(append([]string{"--runtime-endpoint", "unix://" + socket}, args...))
	err = cmd.Execute()
	return out.String(), err
}
