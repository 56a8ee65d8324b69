package etcd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// Socket names have the form host:port because etcd insists on it in URLs; it
// creates them relative to its working directory, the runtime directory.
const (
	clientSocket = "client:0"
	peerSocket   = "peer:0"
	clientURL    = "unix://" + clientSocket
	peerURL      = "unix://" + peerSocket
)

// Limits of the etcd started here. A transaction stays far below etcd's own limit of a log
// record so that the cluster's etcd, with its defaults, replays it without trouble.
const (
	maxTxnOps   = 2048
	maxTxnBytes = 4 << 20
)

// txnLimits bound one transaction.
type txnLimits struct{ ops, bytes int }

// ownTxn is for an etcd that runs with the arguments below, foreignTxn for one with etcd's defaults (128 operations,
// 1.5 MiB a request).
var (
	ownTxn     = txnLimits{maxTxnOps, maxTxnBytes}
	foreignTxn = txnLimits{128, 1 << 20}
)

const (
	containerName    = "lca-recert-etcd"
	containerData    = "/var/lib/etcd"
	containerRuntime = "/run/lca-etcd"
)

// launcher is one way to run etcd.
type launcher interface {
	name() string
	// argv runs etcd in the foreground with working directory runtime.
	argv(data, runtime string) []string
}

type hostBinary struct{ path string }

func (b hostBinary) name() string { return b.path }

func (b hostBinary) argv(data, _ string) []string {
	return append([]string{b.path}, etcdArgs(data)...)
}

// container runs the cluster's own image. --replace ends a container that an
// earlier run left; the network namespace is empty, the sockets come out by mount.
type container struct{ podman, image, cgroups string }

func (c container) name() string { return "podman " + c.image }

func (c container) argv(data, runtime string) []string {
	run := []string{c.podman, "--log-level", "error", "run", "--rm", "--replace", "--pull", "never",
		"--name", containerName, "--network", "none", "--security-opt", "label=disable",
		"--log-driver", "none", "--user", "0:0", "--stop-timeout", "60",
		"--volume", data + ":" + containerData, "--volume", runtime + ":" + containerRuntime,
		"--workdir", containerRuntime, "--entrypoint", "etcd"}
	if c.cgroups != "" {
		run = append(run, "--cgroups", c.cgroups)
	}
	return append(append(run, c.image), etcdArgs(containerData)...)
}

// etcdArgs runs a single member that elects itself at once: a single member skips most of the one to two election
// time-outs, and none passes while it writes to a slow disk. The name and the client URL given here become the
// member's attributes until the cluster's own etcd starts again and replaces them.
func etcdArgs(data string) []string {
	return []string{
		"--name", "offline",
		"--data-dir", data,
		"--listen-client-urls", clientURL,
		"--advertise-client-urls", clientURL,
		"--listen-peer-urls", peerURL,
		"--heartbeat-interval", "10",
		"--election-timeout", "50",
		"--max-txn-ops", fmt.Sprint(maxTxnOps),
		"--max-request-bytes", fmt.Sprint(2 * maxTxnBytes),
		"--quota-backend-bytes", fmt.Sprint(8 << 30),
		"--log-level", "warn",
	}
}

// chooseLauncher prefers the cluster's image when it is on the node.
func (s *Store) chooseLauncher(ctx context.Context) (launcher, error) {
	image, imageErr := s.localImage(ctx)
	if imageErr == nil {
		return image, nil
	}
	binary, err := lookUp(s.cfg.Binary, "etcd")
	if err != nil {
		return nil, fmt.Errorf("no etcd to run: %w; and no host binary: %w", imageErr, err)
	}
	s.cfg.Log.Debug("etcd runs from a host binary", "op", "keystore-open", "why", imageErr.Error())
	return hostBinary{binary}, nil
}

func (s *Store) localImage(ctx context.Context) (launcher, error) {
	image, err := Image(s.cfg.Manifest)
	if err != nil {
		return nil, err
	}
	podman, err := lookUp(s.cfg.Podman, "podman")
	if err != nil {
		return nil, err
	}
	if err := exec.CommandContext(ctx, podman, "image", "exists", image).Run(); err != nil {
		return nil, fmt.Errorf("image %s is not on the node: %w", image, err)
	}
	return container{podman, image, s.cfg.CGroups}, nil
}

// Image reads the name of the cluster's own etcd image: that of container "etcd" from the static pod manifest.
func Image(manifest string) (string, error) {
	text, err := os.ReadFile(manifest)
	if err != nil {
		return "", fmt.Errorf("read the etcd static pod: %w", err)
	}
	var pod struct {
		Spec struct {
			Containers []struct{ Name, Image string } `json:"containers"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &pod); err != nil {
		return "", fmt.Errorf("parse the etcd static pod %s: %w", manifest, err)
	}
	for _, c := range pod.Spec.Containers {
		if c.Name == "etcd" && c.Image != "" {
			return c.Image, nil
		}
	}
	return "", fmt.Errorf("static pod %s has no image for a container named etcd", manifest)
}

func lookUp(override, name string) (string, error) {
	if override != "" {
		if _, err := os.Stat(override); err != nil {
			return "", fmt.Errorf("find %s: %w", name, err)
		}
		return override, nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	local := filepath.Join("/usr/local/bin", name)
	if _, err := os.Stat(local); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%s is neither in PATH nor in /usr/local/bin", name)
		}
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	return local, nil
}
