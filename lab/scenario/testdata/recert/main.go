// Command recert is what the image of the container scenario runs. It notes what it was given, and has the native engine do
// the work from within: over the etcd beside it, and over the host's folders where the field's image finds them.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// node is where the host's folders are put together again for the native engine.
const node = "/node"

// call is what recert was given.
type call struct {
	Args       []string `json:"args"`
	Config     string   `json:"config"`
	Interfaces []string `json:"interfaces"`
}

func main() {
	if err := recert(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func recert() error {
	config := os.Getenv("RECERT_CONFIG")
	links, err := net.Interfaces()
	if err != nil {
		return err
	}
	c := call{Args: os.Args[1:], Config: config}
	for _, l := range links {
		c.Interfaces = append(c.Interfaces, l.Name)
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile("/var/tmp/recert-call.json", text, 0o644); err != nil {
		return err
	}
	workspace := filepath.Dir(config)
	folders := map[string]string{"/host-etc": "/etc", "/kubelet": "/var/lib/kubelet", "/var/tmp": "/var/tmp", workspace: workspace}
	for from, to := range folders {
		if err := os.MkdirAll(node+to, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount(from, node+to, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return fmt.Errorf("put %s in its place: %w", from, err)
		}
	}
	argv := []string{"lca-cli", "recert", "apply", "--root", node, "--endpoint", "http://localhost:2379", "--config", config}
	return syscall.Exec("/lca-cli", argv, os.Environ())
}
