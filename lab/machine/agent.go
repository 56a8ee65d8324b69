package machine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"
)

// agent speaks the QEMU guest agent's protocol (QEMU manual, "QEMU Guest Agent Protocol Reference"): JSON objects over the
// host's end of a virtio serial port. The port serves one connection at a time, so each call opens its own, and several
// programs can talk to one machine.
type agent struct{ socket string }

const (
	// agentAnswersWithin bounds one call. An agent that is not there gives no answer at all, ever.
	agentAnswersWithin = 10 * time.Second
	agentPollEvery     = 150 * time.Millisecond
	// delimiter is sent before the answer to guest-sync-delimited; all before it is left from an earlier, broken call.
	delimiter = 0xff
)

type agentStatus struct {
	Exited   bool   `json:"exited"`
	ExitCode *int   `json:"exitcode"`
	Signal   int    `json:"signal"`
	Out      []byte `json:"out-data"` // base64 in JSON, as Go has it for bytes
	Err      []byte `json:"err-data"`
}

// exec runs a program in the guest and waits for its end.
func (a agent) exec(ctx context.Context, command Command) (Result, error) {
	arguments := map[string]any{
		"path": command.Argv[0], "arg": command.Argv[1:], "capture-output": true,
		"env": []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "HOME=/root", "LANG=C.UTF-8", "TERM=dumb"},
	}
	if command.Stdin != nil {
		input, err := io.ReadAll(command.Stdin)
		if err != nil {
			return Result{}, fmt.Errorf("read standard input for the node: %w", err)
		}
		arguments["input-data"] = input
	}
	var started struct {
		PID int `json:"pid"`
	}
	if err := a.call(ctx, "guest-exec", arguments, &started); err != nil {
		return Result{}, err
	}
	for {
		var status agentStatus
		if err := a.call(ctx, "guest-exec-status", map[string]any{"pid": started.PID}, &status); err != nil {
			return Result{}, err
		}
		if status.Exited {
			return status.result(), nil
		}
		select {
		case <-ctx.Done():
			return Result{}, ctx.Err()
		case <-time.After(agentPollEvery):
		}
	}
}

// result follows the shell: a program killed by a signal has 128 + its number.
func (s agentStatus) result() Result {
	code := 128 + s.Signal
	if s.ExitCode != nil {
		code = *s.ExitCode
	}
	return Result{Stdout: string(s.Out), Stderr: string(s.Err), ExitCode: code}
}

// call sends one command on a connection of its own and decodes its return value.
func (a agent) call(ctx context.Context, command string, arguments map[string]any, result any) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", a.socket)
	if err != nil {
		return fmt.Errorf("guest agent: %w: %w", ErrOff, err)
	}
	defer conn.Close()
	deadline := time.Now().Add(agentAnswersWithin)
	if limit, ok := ctx.Deadline(); ok && limit.Before(deadline) {
		deadline = limit
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	reader := bufio.NewReader(conn)
	if err := synchronise(conn, reader); err != nil {
		return fmt.Errorf("guest agent: %w: %w", ErrOff, err)
	}
	return ask(conn, reader, command, arguments, result)
}

// synchronise drops whatever an interrupted caller has left in either direction.
func synchronise(conn io.Writer, reader *bufio.Reader) error {
	id := rand.Int64N(1 << 31)
	if _, err := conn.Write([]byte{delimiter}); err != nil {
		return err
	}
	if err := send(conn, "guest-sync-delimited", map[string]any{"id": id}); err != nil {
		return err
	}
	for {
		if _, err := reader.ReadSlice(delimiter); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		} else if err != nil {
			continue
		}
		var answer struct {
			Return int64 `json:"return"`
		}
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return err
		}
		if json.Unmarshal(line, &answer) == nil && answer.Return == id {
			return nil
		}
	}
}

func ask(conn io.Writer, reader *bufio.Reader, command string, arguments map[string]any, result any) error {
	if err := send(conn, command, arguments); err != nil {
		return fmt.Errorf("guest agent: %s: %w: %w", command, ErrOff, err)
	}
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("guest agent: %s: %w: %w", command, ErrOff, err)
	}
	var answer struct {
		Return json.RawMessage `json:"return"`
		Error  *struct {
			Description string `json:"desc"`
		} `json:"error"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(line), &answer); err != nil {
		return fmt.Errorf("guest agent: %s: %w", command, err)
	}
	if answer.Error != nil {
		return fmt.Errorf("guest agent: %s: %s", command, answer.Error.Description)
	}
	return json.Unmarshal(answer.Return, result)
}

func send(conn io.Writer, command string, arguments map[string]any) error {
	text, err := json.Marshal(map[string]any{"execute": command, "arguments": arguments})
	if err != nil {
		return err
	}
	_, err = conn.Write(append(text, '\n'))
	return err
}
