package nmtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// depsRoot is where `make network-deps` unpacks packages: build/network/root of this module.
func depsRoot() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "build", "network", "root")
		}
	}
	return ""
}

// findBinary finds a program: installed, or unpacked by `make network-deps`.
func findBinary(name string) (string, error) {
	for _, dir := range []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/lib/openvswitch-switch"} {
		for _, root := range []string{"/", depsRoot()} {
			path := filepath.Join(root, dir, name)
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s is neither installed nor below %s: run `make network-deps`", name, depsRoot())
}

// File finds a data file of a package: installed, or unpacked by `make network-deps`.
func File(path string) (string, error) {
	for _, root := range []string{"/", depsRoot()} {
		if full := filepath.Join(root, path); fileExists(full) {
			return full, nil
		}
	}
	return "", fmt.Errorf("%s is neither installed nor below %s: run `make network-deps`", path, depsRoot())
}

func fileExists(path string) bool { _, err := os.Stat(path); return err == nil }

// Command is a program of the system under test: from the folder EnvRoot names, installed, or unpacked.
func Command(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	if root := os.Getenv(EnvRoot); root != "" {
		cmd := exec.CommandContext(ctx, "/usr/bin/env", append([]string{name}, args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Pdeathsig: syscall.SIGKILL}
		cmd.Dir = "/"
		cmd.Env = append(os.Environ(), "PATH=/usr/sbin:/usr/bin:/usr/lib/openvswitch-switch")
		return cmd, nil
	}
	path, err := findBinary(name)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	var libraries []string
	for _, dir := range []string{"usr/lib", "lib"} {
		libraries = append(libraries, filepath.Join(depsRoot(), dir, "x86_64-linux-gnu"), filepath.Join(depsRoot(), dir, "aarch64-linux-gnu"))
	}
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))
	return cmd, nil
}
