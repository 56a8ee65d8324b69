package etcd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
)

const manifest = `apiVersion: v1
kind: Pod
spec:
  containers:
  - name: etcdctl
    image: example.com/wrong
  - name: etcd
    image: example.com/etcd@sha256:1
`

// fakePodman maps a container's mounts and working directory back to the host and runs etcd there, with
// the arguments that follow the image; it records what it was asked.
const fakePodman = `#!/bin/bash
echo "$*" >> "$(dirname "$0")/calls"
if [ "$1 $2" = "image exists" ]; then [ "$3" = "example.com/etcd@sha256:1" ]; exit; fi
while [ "$1" != --entrypoint ]; do
  if [ "$1" = --volume ]; then
    case "$2" in *:/var/lib/etcd) data=${2%%:*};; *:/run/lca-etcd) run=${2%%:*};; esac
  fi
  shift
done
shift 3
args=()
for a in "$@"; do args+=("${a/#\/var\/lib\/etcd/$data}"); done
cd "$run" && exec "ETCD_BINARY" "${args[@]}"
`

func TestPodmanRunsTheImageOfTheStaticPod(t *testing.T) {
	_, cfg := newStore(t, map[string]string{"/k": "v"})
	dir := t.TempDir()
	cfg.Manifest, cfg.Podman = filepath.Join(dir, "etcd-pod.yaml"), filepath.Join(dir, "podman")
	script := strings.ReplaceAll(fakePodman, "ETCD_BINARY", cfg.Binary)
	cfg.Binary = "/nonexistent/etcd"
	if err := os.WriteFile(cfg.Manifest, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cfg.Podman, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	session := open(t, etcd.New(cfg))
	if got := dump(t, session, "/k"); string(got["/k"].Value) != "v" {
		t.Fatalf("keys %v", got)
	}
	closeStore(t, session)
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--network none", "--replace", "--pull never", "--entrypoint etcd example.com/etcd@sha256:1 --name offline"} {
		if !strings.Contains(string(calls), want) {
			t.Errorf("podman was not asked for %q:\n%s", want, calls)
		}
	}
}
