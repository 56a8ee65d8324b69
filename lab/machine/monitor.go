package machine

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"
)

// monitor speaks to QEMU itself (QEMU manual, "QEMU Machine Protocol Specification"): JSON objects, one a line. It serves
// one connection at a time, so each call opens its own.
type monitor struct{ socket string }

// monitorAnswersWithin bounds one call.
const monitorAnswersWithin = 10 * time.Second

// do runs one command that returns nothing of use.
func (m monitor) do(ctx context.Context, command string, arguments map[string]any) error {
	conn, err := (&net.Dialer{Timeout: monitorAnswersWithin}).DialContext(ctx, "unix", m.socket)
	if err != nil {
		return fmt.Errorf("monitor: %s: %w: %w", command, ErrOff, err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(monitorAnswersWithin)); err != nil {
		return fmt.Errorf("monitor: %s: %w", command, err)
	}
	reader := bufio.NewReader(conn)
	if _, err := reader.ReadBytes('\n'); err != nil {
		return fmt.Errorf("monitor: %s: read the greeting: %w", command, err)
	}
	for _, c := range []struct {
		name      string
		arguments map[string]any
	}{{"qmp_capabilities", map[string]any{}}, {command, arguments}} {
		if err := send(conn, c.name, c.arguments); err != nil {
			return fmt.Errorf("monitor: %s: %w", c.name, err)
		}
		if err := answered(reader); err != nil {
			return fmt.Errorf("monitor: %s: %w", c.name, err)
		}
	}
	return nil
}

// answered reads up to the answer of a command; events may come before it.
func answered(reader *bufio.Reader) error {
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		var answer struct {
			Event string `json:"event"`
			Error *struct {
				Description string `json:"desc"`
			} `json:"error"`
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		switch {
		case answer.Event != "":
			continue
		case answer.Error != nil:
			return fmt.Errorf("refused: %s", answer.Error.Description)
		}
		return nil
	}
}
