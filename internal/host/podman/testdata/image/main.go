// Command image is all that the images of the tests hold besides etcd. As etcdctl it asks etcd how it is; by any other name
// it is recert, and records how it was called: what it is given and what it sees.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Of the host's /var/tmp, which recert has at the same place.
const (
	calls   = "/var/tmp/calls.jsonl"
	breaks  = "/var/tmp/breaks"
	summary = "/var/tmp/recert-summary.yaml"
)

// call is how the image was run once.
type call struct {
	Args       []string          `json:"args"`
	Config     string            `json:"config"`
	Mounts     map[string]string `json:"mounts"` // what a marker in each folder says
	Interfaces []string          `json:"interfaces"`
	Etcd       string            `json:"etcd"`
}

func main() {
	var err error
	if filepath.Base(os.Args[0]) == "etcdctl" {
		_, err = health()
	} else {
		err = recert()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func health() (string, error) {
	client := http.Client{Timeout: 5 * time.Second}
	res, err := client.Get("http://localhost:2379/health")
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var answer struct{ Health string }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return "", err
	}
	if answer.Health != "true" {
		return "", errors.New("unhealthy cluster")
	}
	return "healthy", nil
}

func recert() error {
	c := call{Args: os.Args[1:], Config: os.Getenv("RECERT_CONFIG"), Mounts: map[string]string{}}
	for _, dir := range []string{"/host-etc", "/ssh", "/kubernetes", "/kubelet", "/var/tmp", "/machine-config-daemon", "/pki"} {
		marker, err := os.ReadFile(filepath.Join(dir, "marker"))
		if err != nil {
			return err
		}
		c.Mounts[dir] = strings.TrimSpace(string(marker))
	}
	links, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, l := range links {
		c.Interfaces = append(c.Interfaces, l.Name)
	}
	slices.Sort(c.Interfaces)
	if c.Etcd, err = health(); err != nil {
		return err
	}
	config, err := os.ReadFile(c.Config)
	if err != nil {
		return err
	}
	if err := note(c); err != nil {
		return err
	}
	if _, err := os.Stat(breaks); err == nil {
		fmt.Fprintln(os.Stderr, "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\npassword hush-hush")
		os.Exit(101)
	}
	return os.WriteFile(summary, fmt.Appendf(nil, "recert_config: %d bytes\n", len(config)), 0o600)
}

func note(c call) error {
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(calls, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(line, '\n'))
	return err
}
