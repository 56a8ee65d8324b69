//go:build nmstate

package nmstate

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// envKernel names what kernel.sh made: a module then runs in a guest with that kernel, which has bonds, VLANs, VRFs, dummies and
// bridges that filter VLANs. A guest is slow: a module takes some minutes.
const envKernel = "NMSTATE_KERNEL"

// guestConsole is what a guest says; a report without it is of a module that ran on this machine's kernel.
const guestConsole = "console.txt"

// guestPatience multiplies what a test waits for NetworkManager in a guest.
const guestPatience = "6"

// runGuest runs a module in User Mode Linux, whose root is this machine's, read-only.
func runGuest(t *testing.T, kernel, self string, settings []string, report string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*moduleTime)
	defer cancel()
	args := []string{"--pid", "--fork", "--kill-child=KILL", "sh", "-c", `"$@"; exit $?`, "sh",
		filepath.Join(kernel, "usr/bin/linux.uml"), "mem=1536M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
		"init=" + absolute(t, "guest.sh"), "noreboot", "con=null", "con0=null,fd:1", "console=tty0"}
	args = append(args, settings...)
	args = append(args, envKernel+"="+kernel, "NMSTATE_SELF="+self, "NMSTATE_TIME="+(2*moduleTime).String(), "NMTEST_PATIENCE="+guestPatience)
	cmd := exec.CommandContext(ctx, "unshare", args...)
	cmd.Env = append(os.Environ(), "TMPDIR=/dev/shm") // where the guest's memory is
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	out, err := cmd.CombinedOutput()
	t.Logf("the guest ended: %v", err)
	require.NoError(t, os.WriteFile(filepath.Join(report, guestConsole), out, 0o600))
	require.FileExists(t, filepath.Join(report, "run.txt"), "the guest ran nothing; its console says why")
}
