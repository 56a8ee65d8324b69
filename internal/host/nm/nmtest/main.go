package nmtest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	envInside = "NMTEST_INSIDE" // set in the copy of the test binary that runs inside the namespaces
	envSkip   = "NMTEST_SKIP"   // why there is no such copy

	// EnvRoot names a folder that holds a whole system to take NetworkManager from, by chroot:
	// another version than the machine's own. Optional.
	EnvRoot = "NMTEST_ROOT"

	// EnvPatience is a number that every time limit of a test is multiplied by: an emulated machine is slow. Optional.
	EnvPatience = "NMTEST_PATIENCE"
)

// Main runs the tests of a binary, inside namespaces where that is possible. It
// returns the exit status; TestMain passes it to os.Exit.
func Main(m *testing.M) int {
	if os.Getenv(envInside) != "" {
		if err := prepareNamespaces(); err != nil {
			fmt.Fprintln(os.Stderr, "nmtest: prepare namespaces:", err)
			return 1
		}
		return m.Run()
	}
	flag.Parse()
	if reason := skipReason(); reason != "" {
		if err := os.Setenv(envSkip, reason); err != nil {
			return 1
		}
		return m.Run()
	}
	return runInside()
}

// skipReason says why no namespaces can be had here.
func skipReason() string {
	if testing.Short() {
		return "-short: tests in namespaces of their own take their time"
	}
	if os.Geteuid() != 0 {
		return "not root: namespaces of our own need it (sudo -E go test ...)"
	}
	return missingTool("ip")
}

// missingTool names the first program that is not there, and how to get it.
func missingTool(tools ...string) string {
	for _, tool := range tools {
		if _, err := findBinary(tool); err != nil && (tool == "ip" || os.Getenv(EnvRoot) == "") {
			return fmt.Sprintf("%s is missing: run `make network-deps`, or `apt-get install --no-install-recommends network-manager iproute2 dbus-daemon`", tool)
		}
	}
	return ""
}

// runInside runs this test binary inside new namespaces; all its children end with it.
func runInside() int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "nmtest:", err)
		return 1
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), envInside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	runtime.LockOSThread()      // Pdeathsig is about the thread
	signal.Ignore(os.Interrupt) // the copy gets it too and ends in order
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "nmtest: start inside namespaces:", err)
		return 1
	}
	return 0
}

// prepareNamespaces gives the namespaces their own mounts; none leaves them.
func prepareNamespaces() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mount /sys: %w", err)
	}
	for _, dir := range []string{"/run", "/etc/NetworkManager", "/var/lib/NetworkManager", "/etc/openvswitch"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755"); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	if err := os.MkdirAll("/run/netns", 0o755); err != nil {
		return err
	}
	return shareWithRoot(os.Getenv(EnvRoot))
}

// shareWithRoot shows a chroot the same folders.
func shareWithRoot(root string) error {
	if root == "" {
		return nil
	}
	if err := unix.Mount(root, root, "", unix.MS_BIND|unix.MS_REC, ""); err != nil { // "ip netns exec" needs / to be a mount
		return fmt.Errorf("bind %s: %w", root, err)
	}
	for _, dir := range []string{"/proc", "/sys", "/dev", "/run", "/etc/NetworkManager", "/var/lib/NetworkManager", "/etc/openvswitch"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
		if err := unix.Mount(dir, filepath.Join(root, dir), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("bind %s into %s: %w", dir, root, err)
		}
	}
	return nil
}
