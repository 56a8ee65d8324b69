// Command recert is all that the images of the container scenario hold besides etcd and lca-cli. As etcdctl it asks etcd
// how it is. As recert it notes what it was given, and has the native engine do the work from within: over the etcd beside
// it, and over the host's folders where the field's image finds them.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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
	work := recert
	if filepath.Base(os.Args[0]) == "etcdctl" {
		work = health
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func health() error {
	answer, err := http.Get("http://localhost:2379/health")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && !strings.Contains(string(text), `"health":"true"`) {
		err = errors.New("unhealthy cluster")
	}
	return err
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
	for from, to := range map[string]string{"/host-etc": "/etc", "/kubelet": "/var/lib/kubelet", "/var/tmp": "/var/tmp", workspace: workspace} {
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
