package ovs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// client is one connection to ovsdb-server: JSON-RPC 1.0 over a stream (RFC 7047 section 4).
type client struct {
	conn net.Conn
	dec  *json.Decoder
	stop func() bool
}

// answerTime bounds one exchange: the server is on this machine.
const answerTime = 10 * time.Second

func dialDatabase(ctx context.Context, socket string) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("connect to the Open vSwitch database: %w", err)
	}
	// A cancelled context ends a read that waits.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	if err := conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &client{conn: conn, dec: json.NewDecoder(conn), stop: stop}, nil
}

func (c *client) close() {
	c.stop()
	_ = c.conn.Close() // only read from
}

type request struct {
	Method string `json:"method"`
	Params []any  `json:"params"`
	ID     any    `json:"id"`
}

type message struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	ID     any             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// operation is one step of a transaction (RFC 7047 section 5.2).
type operation struct {
	Op      string   `json:"op"`
	Table   string   `json:"table"`
	Where   []any    `json:"where"`
	Columns []string `json:"columns,omitempty"`
	// Mutations are of "mutate"; Until, Rows and Timeout of "wait".
	Mutations []any            `json:"mutations,omitempty"`
	Until     string           `json:"until,omitempty"`
	Rows      []map[string]any `json:"rows,omitempty"`
	Timeout   *int             `json:"timeout,omitempty"`
}

func selectAll(table string, columns ...string) operation {
	return operation{Op: "select", Table: table, Where: []any{}, Columns: columns}
}

// transact runs the operations as one transaction and returns the rows of each.
func (c *client) transact(ctx context.Context, database string, ops ...operation) ([][]row, error) {
	params := []any{database}
	for _, o := range ops {
		params = append(params, o)
	}
	if err := json.NewEncoder(c.conn).Encode(request{Method: "transact", Params: params, ID: 1}); err != nil {
		return nil, fmt.Errorf("ask the Open vSwitch database: %w", contextCause(ctx, err))
	}
	m, err := c.readResponse()
	if err != nil {
		return nil, fmt.Errorf("ask the Open vSwitch database: %w", contextCause(ctx, err))
	}
	return parseResults(m, len(ops))
}

// errTimedOut says that a row is not as the transaction demands.
var errTimedOut = errors.New("another program changed the row meanwhile")

// readResponse reads until the response; the server may ask us for a sign of life meanwhile.
func (c *client) readResponse() (message, error) {
	for {
		var m message
		if err := c.dec.Decode(&m); err != nil {
			return m, fmt.Errorf("decode the response: %w", err)
		}
		if m.Method != "echo" {
			return m, nil
		}
		reply := map[string]any{"id": m.ID, "result": m.Params, "error": nil}
		if err := json.NewEncoder(c.conn).Encode(reply); err != nil {
			return m, fmt.Errorf("answer the echo: %w", err)
		}
	}
}

func parseResults(m message, n int) ([][]row, error) {
	if len(m.Error) > 0 && string(m.Error) != "null" {
		return nil, fmt.Errorf("the Open vSwitch database refuses: %s", m.Error)
	}
	var all []struct {
		Rows    []row  `json:"rows"`
		Error   string `json:"error"`
		Details string `json:"details"`
	}
	if err := json.Unmarshal(m.Result, &all); err != nil {
		return nil, fmt.Errorf("read the Open vSwitch database's answer: %w", err)
	}
	var out [][]row
	for _, r := range all {
		if r.Error == "timed out" {
			return nil, errTimedOut
		}
		if r.Error != "" {
			return nil, fmt.Errorf("the Open vSwitch database refuses: %s: %s", r.Error, r.Details)
		}
		out = append(out, r.Rows)
	}
	if len(out) < n {
		return nil, fmt.Errorf("the Open vSwitch database answered %d of %d questions", len(out), n)
	}
	return out, nil
}

func contextCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// mapColumn reads a column of strings by string: ["map", [["key", "value"], ...]].
func (r row) mapColumn(column string) map[string]string {
	var pair []json.RawMessage
	var entries [][2]string
	if json.Unmarshal(r[column], &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[1], &entries) != nil {
		return nil
	}
	out := make(map[string]string, len(entries))
	for _, e := range entries {
		out[e[0]] = e[1]
	}
	return out
}

// row is one row of a table, by column.
type row map[string]json.RawMessage

// stringColumn reads a string column; "" where it is none.
func (r row) stringColumn(column string) string {
	var s string
	_ = json.Unmarshal(r[column], &s) // another type is no text
	return s
}

// uuidColumn reads a column holding ["uuid", "..."].
func (r row) uuidColumn(column string) string {
	id, _ := parseUUID(r[column])
	return id
}

// uuidSetColumn reads a column of uuids: one alone, or ["set", [[...], ...]] (RFC 7047 section 5.1).
func (r row) uuidSetColumn(column string) []string {
	if id, ok := parseUUID(r[column]); ok {
		return []string{id}
	}
	var pair []json.RawMessage
	var kind string
	if json.Unmarshal(r[column], &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &kind) != nil || kind != "set" {
		return nil
	}
	var members []json.RawMessage
	if json.Unmarshal(pair[1], &members) != nil {
		return nil
	}
	var out []string
	for _, m := range members {
		if id, ok := parseUUID(m); ok {
			out = append(out, id)
		}
	}
	return out
}

func parseUUID(raw json.RawMessage) (string, bool) {
	var pair []string
	if json.Unmarshal(raw, &pair) != nil || len(pair) != 2 || pair[0] != "uuid" {
		return "", false
	}
	return pair[1], true
}
