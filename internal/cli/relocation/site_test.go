package relocation_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/laptop"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
)

func run(t *testing.T, make func(out *bytes.Buffer) *cobra.Command, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := make(&out)
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestServeShowsWhereAndHow(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	console := writer(func(text string) {
		if strings.Contains(text, "Code: ") {
			require.Regexp(t, `Code: \d{4} \d{4} \(works once\)`, text)
			cancel()
		}
	})
	cmd := cli.PageCommand(cli.PageWiring{Log: slog.New(slog.DiscardHandler), Console: console, Now: time.Now,
		Node: func() string { return "n" }, Site: func(context.Context) (portal.Site, error) { return nil, nil },
		Laptop: func() (laptop.Access, bool, error) { return laptop.Access{}, false, nil }})
	cmd.SetArgs([]string{"--listen", "127.0.0.1:0"})
	require.NoError(t, cmd.ExecuteContext(ctx))
	cmd.SetArgs([]string{"--listen", "x"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	require.ErrorContains(t, cmd.ExecuteContext(t.Context()), "is not an address and port")
}

// A page that is served on all addresses is shown with each that the node has: it may get the first one later than the page begins.
func TestServeShowsTheNodesAddressesAsTheyCome(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var has atomic.Pointer[[]netip.Addr]
	has.Store(&[]netip.Addr{})
	var shown []string
	console := writer(func(text string) {
		var now []string
		for line := range strings.Lines(text) {
			if _, at, found := strings.Cut(line, "a phone:  https://"); found {
				now = append(now, at[:strings.LastIndex(at, ":")])
			}
		}
		if strings.Join(now, " ") != "" {
			shown = append(shown, strings.Join(now, " "))
		}
		switch len(shown) {
		case 0:
			has.Store(&[]netip.Addr{netip.MustParseAddr("192.0.2.10")})
		case 1:
			has.Store(&[]netip.Addr{netip.MustParseAddr("198.51.100.20"), netip.MustParseAddr("2001:db8::1")})
		case 2:
			cancel()
		}
	})
	cmd := cli.PageCommand(cli.PageWiring{Log: slog.New(slog.DiscardHandler), Console: console, Now: time.Now,
		Node: func() string { return "n" }, Site: func(context.Context) (portal.Site, error) { return &reporting{}, nil },
		Addresses: func() []netip.Addr { return slices.Clone(*has.Load()) },
		Laptop:    func() (laptop.Access, bool, error) { return laptop.Access{}, false, nil }})
	cmd.SetArgs([]string{"--listen", "0.0.0.0:0"})
	require.NoError(t, cmd.ExecuteContext(ctx))
	require.Equal(t, []string{"192.0.2.10", "198.51.100.20 [2001:db8::1]"}, shown)
}

// The way for retail is a stick and the screen: it shows what the node does, step by step, and how it ended. The result stays when the
// page closes, and goes when another attempt begins.
func TestTheScreenFollowsTheNode(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	site := &reporting{}
	var shown, kept []string
	next := func(now portal.Progress) { site.now.Store(&now) }
	console := writer(func(text string) {
		for _, k := range []struct {
			says string
			then func()
		}{
			{"Plug in the stick", func() {
				next(portal.Progress{State: portal.Running, Step: 3, Steps: 29, Title: "Apply and prove the new network"})
			}},
			{"Apply and prove the new network", func() {
				next(portal.Progress{State: portal.Failed, Code: "L23", Message: "gateway 192.0.2.1 is silent"})
			}},
			{"The site's router does not answer.", func() { next(portal.Progress{State: portal.Running, Step: 14, Steps: 29, Title: "Start the cluster"}) }},
			{"Start the cluster", func() { next(portal.Progress{State: portal.Succeeded}) }},
			{"The node is at home on its site.", cancel},
		} {
			if strings.Contains(text, k.says) {
				shown = append(shown, k.says)
				k.then()
			}
		}
	})
	cmd := cli.PageCommand(cli.PageWiring{Log: slog.New(slog.DiscardHandler), Console: console, Now: time.Now,
		Keep: func(text string) error { kept = append(kept, text); return nil },
		Node: func() string { return "n" }, Site: func(context.Context) (portal.Site, error) { return site, nil },
		Addresses: func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("192.0.2.10")} },
		Laptop:    func() (laptop.Access, bool, error) { return laptop.Access{}, false, nil }})
	cmd.SetArgs([]string{"--listen", "0.0.0.0:0"})
	require.NoError(t, cmd.ExecuteContext(ctx))
	require.Equal(t, []string{"Plug in the stick", "Apply and prove the new network", "The site's router does not answer.", "Start the cluster",
		"The node is at home on its site."}, slices.Compact(shown))
	require.Len(t, kept, 4, "nothing, the failure, nothing, the success")
	require.Empty(t, kept[0], "what an earlier program left goes")
	require.Contains(t, kept[1], "The site's router does not answer.")
	require.NotContains(t, kept[1], "Code: ", "the page's code ends with the page")
	require.Empty(t, kept[2])
	require.Contains(t, kept[3], "The node is at home on its site.")
}

// reporting is a site that is where the test says; it waits for a configuration where that says nothing.
type reporting struct {
	portal.Site

	now atomic.Pointer[portal.Progress]
}

func (r *reporting) Progress(context.Context) (portal.Progress, error) {
	if now := r.now.Load(); now != nil {
		return *now, nil
	}
	return portal.Progress{State: portal.Waiting}, nil
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}
