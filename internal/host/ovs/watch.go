package ovs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// connectPause is the time between two attempts to reach a database that is not there: a node may have no Open vSwitch.
const connectPause = 5 * time.Second

// watched are the columns of which a change may show in Settings or Interfaces. Counters are not among them: Open vSwitch writes
// those all the time.
var watched = map[string]any{
	nodeTable: columnsOf("external_ids", "other_config"),
	"Bridge": columnsOf("name", "ports", "external_ids", "other_config", "fail_mode", "datapath_type", "stp_enable", "rstp_enable",
		"mcast_snooping_enable"),
	"Port":      columnsOf("name", "interfaces", "tag", "trunks", "vlan_mode", "bond_mode", "external_ids", "other_config"),
	"Interface": columnsOf("name", "type", "options", "external_ids", "other_config"),
}

func columnsOf(names ...string) map[string]any { return map[string]any{"columns": names} }

// Watch calls changed when it begins to watch, and whenever the database changes what this package reads, until ctx ends or the
// connection breaks. Nothing is asked meanwhile: the database reports its changes (RFC 7047 section 4.1.5). A database that is not
// there is waited for.
func (s *Switch) Watch(ctx context.Context, changed func()) error {
	c, err := s.awaitDatabase(ctx)
	if err != nil || c == nil {
		return err
	}
	defer c.close()
	if err := c.conn.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("watch the Open vSwitch database: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Now()) })
	defer stop()
	ask := request{Method: "monitor", Params: []any{"Open_vSwitch", nil, watched}, ID: 1}
	if err := json.NewEncoder(c.conn).Encode(ask); err != nil {
		return fmt.Errorf("watch the Open vSwitch database: %w", contextCause(ctx, err))
	}
	for {
		m, err := c.readResponse()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("watch the Open vSwitch database: %w", err)
		}
		if len(m.Error) > 0 && string(m.Error) != "null" {
			return fmt.Errorf("watch the Open vSwitch database: it refuses: %s", m.Error)
		}
		changed() // an update, or the answer with which the monitor begins
	}
}

// awaitDatabase connects, as soon as there is a database; nil when ctx ended.
func (s *Switch) awaitDatabase(ctx context.Context) (*client, error) {
	for {
		c, err := dialDatabase(ctx, s.socket)
		switch {
		case ctx.Err() != nil:
			if err == nil {
				c.close()
			}
			return nil, nil
		case err == nil:
			return c, nil
		case !isNotRunning(err):
			return nil, fmt.Errorf("watch the Open vSwitch database: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(connectPause):
		}
	}
}
