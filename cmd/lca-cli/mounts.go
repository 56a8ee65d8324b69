package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// privateMarker marks the re-executed process, which has mounts of its own.
const privateMarker = "LCA_PRIVATE_MOUNTS=1"

// ownMounts gives this process a mount namespace of its own, in which the sysroot can be made
// writable without anybody else seeing it. Units get one from systemd (PrivateMounts); a
// verb run by hand is started again under unshare.
func ownMounts() error {
	mine, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return fmt.Errorf("look at the mount namespace: %w", err)
	}
	first, err := os.Readlink("/proc/1/ns/mnt")
	if err != nil {
		return fmt.Errorf("look at the host's mount namespace (this verb needs root): %w", err)
	}
	if mine != first {
		return nil
	}
	if os.Getenv("LCA_PRIVATE_MOUNTS") != "" {
		return errors.New("unshare did not give this process mounts of its own")
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		return fmt.Errorf("find unshare: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	argv := append([]string{unshare, "--mount", "--propagation", "slave", "--", self}, os.Args[1:]...)
	return fmt.Errorf("run unshare: %w", syscall.Exec(unshare, argv, append(os.Environ(), privateMarker)))
}
