// Command podman records how it is called and does as much as the caller can tell from outside. Its state lies in
// the folder of the program: images/ are on the node, registry/ can be pulled, containers/ run.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	self, err := os.Executable()
	if err != nil {
		fail(125, err)
	}
	p := podman{dir: filepath.Dir(self)}
	p.note("calls", os.Args[1:])
	argv := os.Args[1:]
	if len(argv) > 2 && argv[0] == "--log-level" {
		argv = argv[2:]
	}
	switch strings.Join(argv[:min(2, len(argv))], " ") {
	case "image exists":
		if !p.has("images", argv[2]) {
			os.Exit(1)
		}
		return
	}
	switch argv[0] {
	case "pull":
		p.pull(argv[1:])
	case "run":
		p.run(argv[1:])
	case "exec":
		p.exec(argv[1:])
	case "rm", "stop":
		for _, name := range argv[1:] {
			_ = os.Remove(p.path("containers", name))
		}
	default:
		fail(125, fmt.Errorf("unrecognized command %q", argv[0]))
	}
}

func fail(code int, err error) {
	fmt.Fprintln(os.Stderr, "Error:", err)
	os.Exit(code)
}

type podman struct{ dir string }

func (p podman) path(kind, name string) string {
	return filepath.Join(p.dir, kind, strings.NewReplacer("/", "_", ":", "_").Replace(name))
}

func (p podman) has(kind, name string) bool {
	_, err := os.Stat(p.path(kind, name))
	return err == nil
}

func (p podman) put(kind, name string) {
	at := p.path(kind, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, nil, 0o644)); err != nil {
		fail(125, err)
	}
}

// note appends a line to a record.
func (p podman) note(name string, words []string) {
	line, err := json.Marshal(words)
	if err != nil {
		fail(125, err)
	}
	f, err := os.OpenFile(filepath.Join(p.dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		fail(125, err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		fail(125, err)
	}
}

func (p podman) pull(argv []string) {
	image := argv[len(argv)-1]
	if i := slices.Index(argv, "--authfile"); i >= 0 {
		if _, err := os.ReadFile(argv[i+1]); err != nil {
			fail(125, fmt.Errorf("credential file is not accessible: %w", err))
		}
	}
	if !p.has("registry", image) {
		fail(125, fmt.Errorf("initializing source docker://%s: manifest unknown", image))
	}
	p.put("images", image)
	p.note("pulls", []string{image})
}

// flags that have a value in the next word.
var valued = []string{"--name", "--entrypoint", "-v", "-e", "--authfile"}

func (p podman) run(argv []string) {
	name, env, volumes := "", map[string]string{}, map[string]string{}
	for len(argv) > 0 && strings.HasPrefix(argv[0], "-") {
		flag := argv[0]
		argv = argv[1:]
		if !slices.Contains(valued, flag) {
			continue
		}
		key, value, _ := strings.Cut(argv[0], map[string]string{"-v": ":", "-e": "="}[flag])
		switch flag {
		case "--name":
			name = argv[0]
		case "-v":
			if _, err := os.Stat(key); err != nil {
				fail(125, fmt.Errorf("statfs %s: no such file or directory", key))
			}
			volumes[value] = key
		case "-e":
			env[key] = value
		}
		argv = argv[1:]
	}
	if !p.has("images", argv[0]) {
		fail(125, fmt.Errorf("%s: image not known", argv[0]))
	}
	if name == "recert_etcd" {
		p.put("containers", name)
		return
	}
	p.recert(env["RECERT_CONFIG"], volumes)
}

// exec answers that etcd is healthy, but not at once.
func (p podman) exec(argv []string) {
	asked, _ := os.ReadFile(filepath.Join(p.dir, "asked"))
	p.note("asked", argv)
	if !p.has("containers", argv[0]) || len(asked) == 0 {
		fail(1, errors.New("unhealthy cluster"))
	}
}

// recert is what the image does: it needs etcd and its configuration, and leaves a summary.
func (p podman) recert(config string, volumes map[string]string) {
	p.note("runs", []string{config})
	if !p.has("containers", "recert_etcd") {
		fail(1, errors.New("connect to etcd"))
	}
	text, err := os.ReadFile(inside(volumes, config))
	if err != nil {
		fail(1, err)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "breaks")); err == nil {
		fmt.Fprintln(os.Stderr, "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\npassword hush-hush")
		fail(101, errors.New("panicked"))
	}
	summary := fmt.Sprintf("recert_config: %d bytes\n", len(text))
	if err := os.WriteFile(inside(volumes, "/var/tmp/recert-summary.yaml"), []byte(summary), 0o600); err != nil {
		fail(1, err)
	}
}

// inside maps a container's path to the host's.
func inside(volumes map[string]string, path string) string {
	for at, from := range volumes {
		if rest, ok := strings.CutPrefix(path, at+"/"); ok {
			return filepath.Join(from, rest)
		}
	}
	return "/nonexistent" + path
}
