package screen_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/screen"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
)

const fingerprint = "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF"

func view(p portal.Progress) screen.View {
	return screen.View{Progress: p, Pages: []string{"https://192.0.2.10:8443"}, Port: "eno1", Laptop: "https://203.0.113.1:8443",
		Door: "1234 5678", Fingerprint: fingerprint}
}

func TestTheScreenOfANodeThatWaits(t *testing.T) {
	require.Equal(t, `
    ########  ##########    ######      ######    ##      ##
  ##              ##          ##      ##      ##  ##    ##
  ##              ##          ##      ##          ##  ##
    ######        ##          ##      ##          ####
          ##      ##          ##      ##          ##  ##
          ##      ##          ##      ##      ##  ##    ##
  ########        ##        ######      ######    ##      ##

  Plug in the stick and leave it in.
  The node needs power and its network cable.

  Open this page on a laptop or a phone:  https://192.0.2.10:8443
  A laptop on port eno1, without another network there, opens:  https://203.0.113.1:8443
  Code: 1234 5678 (works once)
  Fingerprint of its certificate (SHA-256):
  `+fingerprint+`

`, screen.Render(view(portal.Progress{State: portal.Waiting})))
}

func TestTheScreenOfANodeThatChanges(t *testing.T) {
	require.Equal(t, `
  ##########                ######      ######
          ##          ##  ##      ##  ##      ##
        ##          ##            ##  ##      ##
      ##          ##            ##      ########
    ##          ##            ##              ##
    ##        ##            ##              ##
    ##                    ##########    ####

  Start the cluster

  Leave power, network cable and stick in.


`, screen.Render(view(portal.Progress{State: portal.Running, Step: 7, Steps: 29, Title: "Start the cluster"})))
}

func TestTheScreenOfASiteThatIsReady(t *testing.T) {
	said := screen.Render(view(portal.Progress{State: portal.Succeeded, Committed: true, Facts: []portal.Fact{
		{Name: "Console", Value: "https://console-openshift-console.apps.store.example.org"}, {Name: "Needs attention", Value: "the hub is silent"}}}))
	require.Contains(t, said, "\n  The node is at home on its site.\n  Remove the stick.\n  Report that the site is ready.\n")
	require.Contains(t, said, "\n  Needs attention: the hub is silent\n")
	require.NotContains(t, said, "1234 5678", "the page closes")
}

// Every code that a technician looks up is on the screen as the printed page has it, in large letters and with what to do.
func TestTheScreenOfAFailure(t *testing.T) {
	for _, e := range sitecode.All() {
		said := screen.Render(view(portal.Progress{State: portal.Failed, Code: e.Code, Message: "gateway 192.0.2.1 gives\nno sign\x1b[2J of life", Returned: true}))
		require.GreaterOrEqual(t, strings.Count(said, "##"), 3*7, "%s is drawn", e.Code)
		plain := strings.Join(strings.Fields(said), " ")
		for _, want := range []string{e.Meaning, e.Action, "Message: gateway 192.0.2.1 gives no sign [2J of life", "The node is back in its factory state.",
			"Code: 1234 5678"} {
			require.Contains(t, plain, want, e.Code)
		}
		require.Equal(t, e.Code[0] == 'L', strings.Contains(said, "tries again by itself"), e.Code)
		require.NotContains(t, said, "\x1b")
	}
	require.Contains(t, screen.Render(view(portal.Progress{State: portal.Failed, Code: "Z00"})), "Something failed that has no code of its own.")
}

func TestTheScreenFitsAConsole(t *testing.T) {
	for _, p := range []portal.Progress{
		{State: portal.Waiting}, {State: portal.Running, Step: 24, Steps: 31, Title: "Check the configuration against this node"},
		{State: portal.Failed, Code: sitecode.WentBack, Returned: true, Message: strings.Repeat("a long message of others ", 80)},
		{State: portal.Succeeded, Facts: []portal.Fact{{Name: "Console", Value: "https://console-openshift-console.apps.store.example.org"}}},
	} {
		lines := strings.Split(screen.Render(view(p)), "\n")
		require.LessOrEqual(t, len(lines), 31, p.State)
		for _, l := range lines {
			if !strings.Contains(l, fingerprint) && !strings.Contains(l, "opens:") {
				require.LessOrEqual(t, utf8.RuneCountInString(l), 82, l)
			}
		}
	}
}
