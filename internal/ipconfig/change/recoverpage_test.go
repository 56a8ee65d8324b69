package change_test

import (
	"context"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// recoverPage are the commands of a section of docs/operate/recover-by-hand.md: of the code block that has the word.
func recoverPage(t *testing.T, section, word string) (lines []string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/operate/recover-by-hand.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "\n## "+section+"\n")
	require.True(t, found, section)
	text, _, _ = strings.Cut(text, "\n## ")
	for _, block := range regexp.MustCompile("(?s)```(bash|console)\n(.*?)```").FindAllStringSubmatch(text, -1) {
		if !strings.Contains(block[2], word) {
			continue
		}
		for line := range strings.Lines(block[2]) {
			command, typed := strings.CutPrefix(line, "# ")
			if block[1] == "console" && !typed {
				continue // what the command answers
			}
			command, _, _ = strings.Cut(command, "  #")
			lines = append(lines, strings.TrimSpace(command))
		}
		return lines
	}
	t.Fatalf("section %s has no block with %q", section, word)
	return nil
}

// shell does on the simulated node what the page's commands do on a real one. A command that it does not know fails the test.
type shell struct {
	*world
	vars *strings.Replacer
}

func (s *shell) run(ctx context.Context, command string) {
	words := strings.Fields(s.vars.Replace(command))
	if name, value, found := strings.Cut(words[0], "="); found {
		s.vars = strings.NewReplacer("$"+name, value)
		return
	}
	switch words[0] {
	case "ostree":
		s.ostree(ctx, words[2:])
	case "systemctl":
		s.systemctl(ctx, words[1:])
	case "systemd-run":
		unit := words[slices.Index(words, "--unit")+1] + ".service"
		at := slices.Index(words, "/usr/local/bin/lca-cli")
		argv := append([]string{host.CLI}, words[at+1:]...)
		require.NoError(s.t, s.node.Transients().Launch(ctx, host.Transient{Unit: unit, Argv: argv}), command)
	case "unshare":
		_, inner, _ := strings.Cut(command, "rm -rf ")
		s.remove(s.vars.Replace(strings.Trim(inner, `"`)))
	case "rm":
		s.remove(strings.Join(words[2:], " "))
	case "sync", "journalctl":
	default:
		s.t.Fatalf("the page has a command that this test does not know: %s", command)
	}
}

func (s *shell) ostree(ctx context.Context, words []string) {
	if words[0] == "status" || words[0] == "cleanup" {
		return
	}
	index, err := strconv.Atoi(words[1])
	require.NoError(s.t, err)
	all, err := s.node.Deployments().List(ctx)
	require.NoError(s.t, err)
	if words[0] == "undeploy" {
		require.NoError(s.t, s.node.Deployments().Remove(ctx, all[index].Stateroot))
		return
	}
	require.Equal(s.t, "set-default", words[0])
	require.NoError(s.t, s.node.Deployments().Choose(ctx, all[index]))
}

func (s *shell) systemctl(ctx context.Context, words []string) {
	switch words[0] {
	case "reboot":
		require.NoError(s.t, s.node.Power().Reboot(ctx, "by hand"))
	case "daemon-reload":
	case "reset-failed":
		require.NoError(s.t, s.node.Transients().Forget(ctx, words[1]+".service"))
	case "disable":
		for _, unit := range words[2:] {
			if path.Ext(unit) == "" {
				unit += ".service"
			}
			require.NoError(s.t, s.node.Units().Stop(ctx, unit))
			require.NoError(s.t, s.node.Units().Disable(ctx, unit))
		}
	default:
		s.t.Fatalf("the page has a verb of systemctl that this test does not know: %v", words)
	}
}

var braces = regexp.MustCompile(`^(.*)\{(.*)\}(.*)$`)

func (s *shell) remove(names string) {
	for _, name := range strings.Fields(names) {
		all := []string{name}
		if m := braces.FindStringSubmatch(name); m != nil {
			all = nil
			for _, part := range strings.Split(m[2], ",") {
				all = append(all, m[1]+part+m[3])
			}
		}
		for _, file := range all {
			if !strings.HasSuffix(file, "*") { // kernels go with their deployment on the simulated node
				require.NoError(s.t, s.node.Files().Remove(file))
			}
		}
	}
}

// follow runs the commands on the node.
func (w *world) follow(lines []string) {
	w.t.Helper()
	s := &shell{w, strings.NewReplacer()}
	_ = w.node.Run(w.t.Context(), func(ctx context.Context) error {
		for _, line := range lines {
			s.run(ctx, line)
		}
		return nil
	})
}

// remains are the files of the product on the node, journals and evidence left out, which may stay.
func (w *world) remains() (out []string) {
	files := w.node.Files()
	for _, dir := range []string{host.UnitDir, host.StateDir} {
		names, _ := files.List(dir)
		for _, name := range names {
			if dir == host.StateDir && (name == "journal" || name == "evidence") {
				continue
			}
			out = append(out, path.Join(dir, name))
		}
	}
	for _, file := range []string{stateroot.BootBallast} {
		if _, err := files.Stat(file); err == nil {
			out = append(out, file)
		}
	}
	return out
}

// TestThePageCleansUpAsTheProductDoes: its commands leave no file that the product would have removed.
func TestThePageCleansUpAsTheProductDoes(t *testing.T) {
	done := func() *world {
		w := newWorld(t)
		require.NoError(t, w.Live(nil))
		w.requireVerdict("new")
		for _, file := range []string{ipconfig.LastResortLog, stateroot.Ballast, stateroot.BootBallast, ipconfig.SavedObjectFile} {
			require.NoError(t, w.node.Files().Write(file, []byte("x"), 0o600)) // what may be left
		}
		return w
	}
	product, hand := done(), done()
	require.NoError(t, product.launch(t.Context(), ipconfig.UnitCleanup, "ip-config", "cleanup"))
	require.NoError(t, product.rest(t.Context()))
	hand.follow(recoverPage(t, "Cleanup failed", "undeploy"))
	require.Equal(t, product.remains(), hand.remains())
	require.NotContains(t, hand.node.Describe().Stateroots, oldStateroot)
	a, b := product.node.Describe(), hand.node.Describe()
	require.Equal(t, a.Stateroots[a.Booted].Enabled, b.Stateroots[b.Booted].Enabled)
}

// TestThePageGoesBack with the tool, also after an attempt that failed, and without it.
func TestThePageGoesBack(t *testing.T) {
	for name, word := range map[string]string{"with the tool": "systemd-run", "without the tool": "set-default"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, w.Live(nil))
			w.requireVerdict("new")
			w.node.Command("lca-cli ip-config broken", func(context.Context, []string) error { return os.ErrInvalid })
			require.NoError(t, w.node.Transients().Launch(t.Context(), host.Transient{
				Unit: ipconfig.UnitRollback, Argv: []string{host.CLI, "ip-config", "broken"},
			}))
			require.NoError(t, w.node.Settle(t.Context(), maxBoots))
			w.follow(recoverPage(t, "Go back", word))
			require.NoError(t, w.rest(t.Context()))
			w.requireVerdict("old")
		})
	}
}
