package run

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func sh(script string) Command { return Command{Argv: []string{"/bin/sh", "-c", script}} }

func TestStreamsAreSeparate(t *testing.T) {
	res, err := New(Options{}).Run(t.Context(), sh("echo warning >&2; echo '{}'"))
	require.NoError(t, err)
	require.Equal(t, "{}\n", string(res.Stdout))
	require.Equal(t, "warning\n", string(res.Stderr))
}

func TestStdinEnvironmentAndFolder(t *testing.T) {
	dir := t.TempDir()
	c := sh(`cat; echo "$GREETING"; pwd`)
	c.Stdin, c.Env, c.Dir = []byte("in\n"), []string{"GREETING=hello"}, dir
	res, err := New(Options{}).Run(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, "in\nhello\n"+dir+"\n", string(res.Stdout))
}

func TestFailureIsTyped(t *testing.T) {
	res, err := New(Options{}).Run(t.Context(), sh("echo partial; echo broken >&2; exit 3"))
	var failed *Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, 3, failed.ExitCode)
	require.Equal(t, 3, ExitCode(err))
	require.ElementsMatch(t, []string{"partial", "broken"}, strings.Fields(failed.Output), "the two streams come in any order")
	require.ErrorContains(t, err, "exit code 3")
	require.ErrorContains(t, err, "broken")
	require.Equal(t, "partial\n", string(res.Stdout), "output of a failed command is still returned")
}

func TestMissingProgram(t *testing.T) {
	for name, root := range map[string]string{"direct": "", "beneath a root": "/"} {
		t.Run(name, func(t *testing.T) {
			if root != "" && os.Geteuid() != 0 {
				t.Skip("reason: changing the root needs root")
			}
			_, err := New(Options{Root: root}).Run(t.Context(), Command{Argv: []string{"no-such-program-here"}, Env: []string{"PATH=/usr/bin:/bin"}})
			require.Error(t, err)
			require.True(t, NotFound(err), "%v", err)
		})
	}
	_, err := New(Options{}).Run(t.Context(), Command{Argv: []string{"true"}, Dir: "/no/such/folder"})
	require.Error(t, err)
	require.False(t, NotFound(err), "a missing folder is not a missing program: %v", err)
}

func TestTimeoutEndsTheWholeGroup(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	// The child ignores SIGTERM and would keep the pipe open for ten minutes.
	c := sh(`(trap '' TERM; echo $$ >/dev/null; sh -c 'trap "" TERM; echo $$ >` + pidFile + `; exec sleep 600') & wait`)
	c.Timeout = 300 * time.Millisecond
	started := time.Now()
	_, err := New(Options{Grace: 200 * time.Millisecond}).Run(t.Context(), c)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(started), 2*time.Minute)
	pid := strings.TrimSpace(readFile(t, pidFile))
	require.Eventually(t, func() bool { return gone(pid) }, 2*time.Minute, 10*time.Millisecond, "process %s survived", pid)
}

// gone says that a process ended; a zombie waiting for a parent that does not reap has.
func gone(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestCancelledContextIsTheCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("deadline of the operation")
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	_, err := New(Options{}).Run(ctx, Command{Argv: []string{"sleep", "60"}})
	require.ErrorIs(t, err, why)
	_, err = New(Options{}).Run(ctx, Command{Argv: []string{"true"}})
	require.ErrorIs(t, err, why, "nothing starts once the context is done")
}

func TestKilledProgramHasNoExitCode(t *testing.T) {
	_, err := New(Options{}).Run(t.Context(), sh("kill -KILL $$"))
	require.Equal(t, NoExit, ExitCode(err))
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.ErrorContains(t, err, "killed")
}

func TestObserverSeesEveryCommand(t *testing.T) {
	var seen []Evidence
	runner := New(Options{Observe: func(e Evidence) { seen = append(seen, e) }})
	_, err := runner.Run(t.Context(), sh("echo out; echo err >&2"))
	require.NoError(t, err)
	_, err = runner.Run(t.Context(), sh("exit 4"))
	require.Error(t, err)
	_, err = runner.Run(t.Context(), Command{Argv: []string{"no-such-program-here"}})
	require.Error(t, err)
	require.Len(t, seen, 3)
	require.Equal(t, []string{"/bin/sh", "-c", "echo out; echo err >&2"}, seen[0].Argv)
	require.Contains(t, seen[0].Output, "out\n")
	require.Contains(t, seen[0].Output, "err\n")
	require.Equal(t, []int{0, 4, NoExit}, []int{seen[0].ExitCode, seen[1].ExitCode, seen[2].ExitCode})
}

func TestSecretsLeaveNoTrace(t *testing.T) {
	secret := "s3cr3t-value"
	var seen Evidence
	runner := New(Options{Observe: func(e Evidence) { seen = e }})
	c := sh(`printf "token %s" "$0" >&2; exit 1`)
	c.Argv, c.Secrets = append(c.Argv, secret), []string{secret}
	_, err := runner.Run(t.Context(), c)
	require.NotContains(t, err.Error(), secret)
	require.NotContains(t, strings.Join(seen.Argv, " ")+seen.Output, secret)
	require.Contains(t, seen.Output, "token "+blot)

	c.SecretOutput = true
	_, err = runner.Run(t.Context(), c)
	require.Empty(t, seen.Output)
	require.NotContains(t, err.Error(), "token "+blot)
}

func TestTailIsBoundedAndNeverCutsIntoASecret(t *testing.T) {
	secret := strings.Repeat("S", 100) + "END"
	for pad := 0; pad < 220; pad += 7 {
		tl := newTail([]string{secret})
		_, _ = tl.Write([]byte(strings.Repeat("x", 9000) + secret + strings.Repeat("y", tailSize-pad)))
		text := tl.redactedText([]string{secret})
		require.LessOrEqual(t, len(text), tailSize+len(blot))
		require.NotContains(t, text, "S")
		require.NotContains(t, text, "END")
	}
}

func TestKnownShapesAreBlotted(t *testing.T) {
	for _, text := range []string{
		"-----BEGIN RSA PRIVATE KEY-----\nSECRETSECRET\n-----END RSA PRIVATE KEY-----\n",
		"before\n-----BEGIN PRIVATE KEY-----\nSECRETSECRET",
		"SECRETSECRET\n-----END EC PRIVATE KEY-----\nafter",
		"Authorization: Bearer SECRETSECRET.abc",
		`{"auths":{"quay.io":{"auth": "SECRETSECRET=="}}}`,
	} {
		got := blotShapes(text)
		require.NotContains(t, got, "SECRETSECRET")
		require.Contains(t, got, blot)
	}
	require.Equal(t, "-----BEGIN CERTIFICATE-----\nMIIB", blotShapes("-----BEGIN CERTIFICATE-----\nMIIB"))
}

func TestTooMuchOutputIsAnError(t *testing.T) {
	_, err := New(Options{Grace: time.Second}).Run(t.Context(), sh("head -c 40000000 /dev/zero"))
	require.ErrorIs(t, err, errOutput)
}

func TestChroot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("reason: chroot needs root")
	}
	res, err := New(Options{Root: "/"}).Run(t.Context(), sh("pwd; echo $HOME"))
	require.NoError(t, err)
	require.Equal(t, "/\n/root\n", string(res.Stdout))
	_, err = New(Options{Root: "/"}).Run(t.Context(), Command{Argv: []string{"no-such-program-here"}})
	require.True(t, NotFound(err), "%v", err)
	_, err = New(Options{Root: t.TempDir()}).Run(t.Context(), sh("true"))
	require.ErrorIs(t, err, syscall.ENOENT, "the program is looked up beneath the root")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}
