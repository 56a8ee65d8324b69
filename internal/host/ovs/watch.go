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
	nodeTable:   map[string]any{"columns": []string{"external_ids", "other_config"}},
	"Bridge":    map[string]any{"columns": []string{"name", "ports", "external_ids", "other_config", "fail_mode", "datapath_type", "stp_enable", "rstp_enable", "mcast_snooping_enable"}},
	"Port":      map[string]any{"columns": []string{"name", "interfaces", "tag", "trunks", "vlan_mode", "bond_mode", "external_ids", "other_config"}},
	"Interface": map[string]any{"columns": []string{"name", "type", "options", "external_ids", "other_config"}},
}

// Watch calls changed whenever the database changes what this package reads, until ctx ends or the connection breaks. Nothing is
// asked meanwhile: the database reports its changes (RFC 7047 section 4.1.5). A database that is not there is waited for.
func (s *Switch) Watch(ctx context.Context, changed func()) error {
	c, waited, err := s.await(ctx)
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
		return fmt.Errorf("watch the Open vSwitch database: %w", because(ctx, err))
	}
	if waited {
		changed()
	}
	for {
		m, err := c.answer()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("watch the Open vSwitch database: %w", err)
		}
		if len(m.Error) > 0 && string(m.Error) != "null" {
			return fmt.Errorf("watch the Open vSwitch database: it refuses: %s", m.Error)
		}
		if m.Method == "update" {
			changed()
		}
	}
}

// await connects, and says whether it had to wait; nil when ctx ended.
func (s *Switch) await(ctx context.Context) (*client, bool, error) {
	for waited := false; ; waited = true {
		c, err := dial(ctx, s.socket)
		switch {
		case ctx.Err() != nil:
			if err == nil {
				c.close()
			}
			return nil, waited, nil
		case err == nil:
			return c, waited, nil
		case !absent(err):
			return nil, waited, fmt.Errorf("watch the Open vSwitch database: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, waited, nil
		case <-time.After(connectPause):
		}
	}
}
