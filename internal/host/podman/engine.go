package podman

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Names in the folder of the configuration: the records of a run, each with the hash of the configuration it
// belongs to.
const (
	begunName = "run-recert.begun"
	doneName  = "run-recert.done"
)

// Names of containers, as the reference implementation gives them.
const (
	etcdContainer   = "recert_etcd"
	recertContainer = "recert"
)

// engine runs one image.
type engine struct {
	Options
	image host.RecertImage
}

// Run implements host.Recert.
func (e *engine) Run(ctx context.Context, configPath string) error {
	config, err := e.Files.Read(configPath)
	if err != nil {
		return fmt.Errorf("read the recert configuration: %w", err)
	}
	sum := sha256.Sum256(config)
	record := record{files: e.Files, dir: path.Dir(configPath), hash: hex.EncodeToString(sum[:])}
	if err := e.removeContainers(ctx); err != nil {
		return err
	}
	switch done, begun, err := record.readMarks(); {
	case err != nil:
		return err
	case done:
		e.Log.Info("recert has done this already", "op", "recert")
		return nil
	case begun:
		return fmt.Errorf("%w: image %s was interrupted", host.ErrHalfDone, e.image.Name)
	}
	return e.overEtcd(ctx, func() error { return e.runRecert(ctx, configPath, record) })
}

// removeContainers removes the containers of a killed run, so that the cluster's data is not in use.
func (e *engine) removeContainers(ctx context.Context) error {
	if _, err := e.runPodman(ctx, 2*time.Minute, "rm", "--force", "--ignore", "--time", "60", recertContainer, etcdContainer); err != nil {
		return fmt.Errorf("remove the containers of an earlier run: %w", err)
	}
	return nil
}

// overEtcd has work done while the cluster's own etcd serves its data.
func (e *engine) overEtcd(ctx context.Context, work func() error) (err error) {
	etcd, err := e.EtcdImage()
	if err != nil {
		return fmt.Errorf("find out which etcd image recert needs: %w", err)
	}
	for _, name := range []string{e.image.Name, etcd} {
		if present, err := e.hasImage(ctx, name); err != nil || !present {
			return errors.Join(fmt.Errorf("image %s is not on the node", name), err)
		}
	}
	if _, err := e.runPodman(ctx, lookTime, e.etcdArgs(etcd)...); err != nil {
		return fmt.Errorf("start etcd from image %s: %w", etcd, err)
	}
	defer func() { // also where the caller was cancelled: the data must come to rest
		_, stopErr := e.runPodman(context.WithoutCancel(ctx), 2*time.Minute, "stop", "--ignore", "--time", "60", etcdContainer)
		if stopErr != nil {
			err = errors.Join(err, fmt.Errorf("stop etcd: %w", stopErr))
		}
	}()
	if err := e.waitHealthy(ctx); err != nil {
		return err
	}
	return work()
}

// etcdArgs run etcd without authentication, in a network that has nothing but a loopback.
func (e *engine) etcdArgs(image string) []string {
	argv := []string{"run", "--rm", "--network=none", "--privileged", "--replace", "--pull=never"}
	argv = append(argv, e.authArgs(e.image)...)
	return append(argv, "--detach", "--name", etcdContainer, "--entrypoint", "etcd",
		"-v", e.Root+host.EtcdData+":/store", image, "--name", "editor", "--data-dir", "/store")
}

// waitHealthy asks etcd from within its own network, which is the only way to it.
func (e *engine) waitHealthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	for {
		_, err := e.runPodman(ctx, lookTime, "exec", etcdContainer, "etcdctl", "--endpoints", "http://localhost:2379", "endpoint", "health")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("etcd did not become healthy within %s: %w", healthTime, err)
		case <-time.After(healthPause):
		}
	}
}

// runRecert runs the image between two records.
func (e *engine) runRecert(ctx context.Context, configPath string, r record) error {
	if err := r.writeMark(begunName); err != nil {
		return err
	}
	command := e.podmanCommand(runTime, e.recertArgs(configPath)...)
	command.SecretOutput = true // it handles every key of the cluster
	res, err := e.Runner.Run(ctx, command)
	log := path.Join(path.Dir(configPath), path.Base(host.RecertContainerLog))
	if logErr := e.Files.Write(log, append(res.Stdout, res.Stderr...), 0o600); logErr != nil {
		e.Log.Warn("what the recert image wrote could not be kept", "op", "recert", "path", log, "error", logErr)
	}
	if err != nil {
		return fmt.Errorf("%w: image %s failed, see %s: %w", host.ErrHalfDone, e.image.Name, log, err)
	}
	return r.writeMark(doneName)
}

// mounts are the host's folders and where the image looks for them.
var mounts = [][2]string{
	{"/etc", "/host-etc"}, {"/etc/ssh", "/ssh"}, {"/etc/kubernetes", "/kubernetes"}, {"/var/lib/kubelet", "/kubelet"},
	{"/var/tmp", "/var/tmp"}, {"/etc/machine-config-daemon", "/machine-config-daemon"}, {"/etc/pki", "/pki"},
}

func (e *engine) recertArgs(configPath string) []string {
	workspace := path.Dir(configPath)
	argv := []string{"run", "--rm", "--network=container:" + etcdContainer, "--privileged", "--replace", "--pull=never",
		"--name", recertContainer}
	for _, m := range mounts {
		argv = append(argv, "-v", e.Root+m[0]+":"+m[1])
	}
	argv = append(argv, "-e", "RECERT_CONFIG="+configPath)
	argv = append(argv, e.authArgs(e.image)...)
	return append(argv, "-v", e.Root+workspace+":"+workspace, e.image.Name)
}

// record stores the progress of this run for the next one.
type record struct {
	files host.Files
	dir   string
	hash  string
}

func (r record) readMarks() (done, begun bool, err error) {
	if done, err = r.hasMark(doneName); err != nil {
		return false, false, err
	}
	begun, err = r.hasMark(begunName)
	return done, begun, err
}

// hasMark says whether the record is there and belongs to this configuration.
func (r record) hasMark(name string) (bool, error) {
	text, err := r.files.Read(path.Join(r.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the record of an earlier run: %w", err)
	}
	return strings.TrimSpace(string(text)) == r.hash, nil
}

func (r record) writeMark(name string) error {
	if err := r.files.Write(path.Join(r.dir, name), []byte(r.hash+"\n"), 0o600); err != nil {
		return fmt.Errorf("record how far recert got: %w", err)
	}
	return nil
}
