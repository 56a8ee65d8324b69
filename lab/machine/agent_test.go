package machine

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// guest is a guest agent that answers from a script: what it says to each command, after its noise.
type guest struct {
	noise   string            // left on the line by an earlier caller, sent before anything else
	answers map[string]string // command -> the whole answer
	asked   chan map[string]any
}

func (g guest) serve(t *testing.T) agent {
	socket := filepath.Join(t.TempDir(), "agent.sock")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			g.talk(conn)
			conn.Close()
		}
	}()
	return agent{socket: socket}
}

func (g guest) talk(conn net.Conn) {
	_, _ = conn.Write([]byte(g.noise))
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		var request struct {
			Execute   string         `json:"execute"`
			Arguments map[string]any `json:"arguments"`
		}
		text := strings.TrimPrefix(lines.Text(), "\xff")
		if json.Unmarshal([]byte(text), &request) != nil {
			return
		}
		if request.Execute == "guest-sync-delimited" {
			id, _ := json.Marshal(request.Arguments["id"])
			_, _ = conn.Write([]byte("\xff{\"return\": " + string(id) + "}\n"))
			continue
		}
		if g.asked != nil {
			g.asked <- request.Arguments
		}
		_, _ = conn.Write([]byte(g.answers[request.Execute] + "\n"))
	}
}

func TestAgentExec(t *testing.T) {
	asked := make(chan map[string]any, 2)
	a := guest{
		noise: "{\"return\": {\"pid\": 1}}\n\xff{\"return\": 5}\n",
		answers: map[string]string{
			"guest-exec":        `{"return": {"pid": 77}}`,
			"guest-exec-status": `{"return": {"exited": true, "exitcode": 3, "out-data": "aGVsbG8=", "err-data": "d29l"}}`,
		},
		asked: asked,
	}.serve(t)
	result, err := a.exec(context.Background(), Command{Argv: []string{"cat", "-n"}, Stdin: strings.NewReader("in")})
	require.NoError(t, err)
	require.Equal(t, Result{Stdout: "hello", Stderr: "woe", ExitCode: 3}, result)

	started := <-asked
	require.Equal(t, "cat", started["path"])
	require.Equal(t, []any{"-n"}, started["arg"])
	require.Equal(t, "aW4=", started["input-data"], "standard input goes in base64")
	require.Equal(t, map[string]any{"pid": 77.0}, <-asked)
}

func TestAgentKilledProgram(t *testing.T) {
	a := guest{answers: map[string]string{
		"guest-exec":        `{"return": {"pid": 7}}`,
		"guest-exec-status": `{"return": {"exited": true, "signal": 9}}`,
	}}.serve(t)
	result, err := a.exec(context.Background(), Command{Argv: []string{"sleep", "1"}})
	require.NoError(t, err)
	require.Equal(t, 137, result.ExitCode)
}

func TestAgentRefusal(t *testing.T) {
	a := guest{answers: map[string]string{"guest-exec": `{"error": {"class": "GenericError", "desc": "Failed to execute child process"}}`}}.serve(t)
	_, err := a.exec(context.Background(), Command{Argv: []string{"nothing"}})
	require.ErrorContains(t, err, "Failed to execute child process")
	require.NotErrorIs(t, err, ErrOff)
}

func TestAgentNotThere(t *testing.T) {
	_, err := agent{socket: filepath.Join(t.TempDir(), "none")}.exec(context.Background(), Command{Argv: []string{"true"}})
	require.ErrorIs(t, err, ErrOff)

	// The port exists as soon as the machine is on, but nobody listens in the guest yet.
	socket := filepath.Join(t.TempDir(), "agent.sock")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer listener.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = agent{socket: socket}.exec(ctx, Command{Argv: []string{"true"}})
	require.ErrorIs(t, err, ErrOff)
}
