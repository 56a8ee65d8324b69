package ovs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// nodeTable has one row, the node's own.
const nodeTable = "Open_vSwitch"

// Settings returns the node's own row: its external ids and other_config, and OVN's bridge mappings, which are one of the
// external ids, nil where there are none. Both are nil on a node without Open vSwitch.
func (s *Switch) Settings(ctx context.Context) (*netstate.OVSDB, *netstate.OVN, error) {
	ids, other, err := s.nodeRow(ctx)
	if isNotRunning(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the node's row of the Open vSwitch database: %w", err)
	}
	var ovn *netstate.OVN
	if mappings := parseMappings(ids[netstate.MappingsKey]); len(mappings) > 0 {
		ovn = &netstate.OVN{BridgeMappings: mappings}
	}
	delete(ids, netstate.MappingsKey)
	return &netstate.OVSDB{ExternalIDs: pointerValues(ids), OtherConfig: pointerValues(other)}, ovn, nil
}

// isNotRunning says that the node has no Open vSwitch that runs.
func isNotRunning(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

func pointerValues(in map[string]string) map[string]*string {
	out := make(map[string]*string, len(in))
	for k, v := range in {
		out[k] = new(v)
	}
	return out
}

func (s *Switch) nodeRow(ctx context.Context) (ids, other map[string]string, err error) {
	c, err := dialDatabase(ctx, s.socket)
	if err != nil {
		return nil, nil, err
	}
	defer c.close()
	rows, err := c.transact(ctx, "Open_vSwitch", selectAll(nodeTable, "external_ids", "other_config"))
	if err != nil {
		return nil, nil, err
	}
	if len(rows[0]) == 0 {
		return nil, nil, errors.New("the database has no row of the node; ovs-vsctl init makes it")
	}
	return rows[0][0].mapColumn("external_ids"), rows[0][0].mapColumn("other_config"), nil
}

// writeAttempts bounds how often a change is tried while other programs write the same row.
const writeAttempts = 10

// Configure merges keys and mappings into the node's row, in one transaction; null and state absent take away. What
// another program wrote meanwhile is kept. It may be repeated.
func (s *Switch) Configure(ctx context.Context, columns *netstate.OVSDB, ovn *netstate.OVN) error {
	var err error
	for range writeAttempts {
		if err = s.writeNodeRow(ctx, columns, ovn); !errors.Is(err, errTimedOut) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("write the node's row of the Open vSwitch database: %w", err)
	}
	return nil
}

func (s *Switch) writeNodeRow(ctx context.Context, columns *netstate.OVSDB, ovn *netstate.OVN) error {
	ids, _, err := s.nodeRow(ctx)
	if err != nil {
		return err
	}
	var next netstate.OVSDB
	if columns != nil {
		next = *columns
	}
	ops := []operation{}
	if ovn != nil {
		// The mappings are one value: it must not have changed since it was read.
		ops = append(ops, operation{Op: "wait", Table: nodeTable, Where: []any{}, Columns: []string{"external_ids"}, Until: "==",
			Rows: []map[string]any{{"external_ids": asMap(ids)}}, Timeout: new(0)})
		next.ExternalIDs = maps.Clone(next.ExternalIDs)
		if next.ExternalIDs == nil {
			next.ExternalIDs = map[string]*string{}
		}
		next.ExternalIDs[netstate.MappingsKey] = mergedMappings(ids[netstate.MappingsKey], ovn)
	}
	var mutations []any
	mutations = append(mutations, keyMutations("external_ids", next.ExternalIDs)...)
	mutations = append(mutations, keyMutations("other_config", next.OtherConfig)...)
	if len(mutations) == 0 {
		return nil
	}
	c, err := dialDatabase(ctx, s.socket)
	if err != nil {
		return err
	}
	defer c.close()
	ops = append(ops, operation{Op: "mutate", Table: nodeTable, Where: []any{}, Mutations: mutations})
	_, err = c.transact(ctx, "Open_vSwitch", ops...)
	return err
}

// keyMutations deletes all keys that are mentioned, and then inserts those with a value: an insert alone overwrites nothing.
func keyMutations(column string, keys map[string]*string) []any {
	if len(keys) == 0 {
		return nil
	}
	names, values := []any{}, map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		names = append(names, k)
		if keys[k] != nil {
			values[k] = *keys[k]
		}
	}
	out := []any{[]any{column, "delete", []any{"set", names}}}
	if len(values) > 0 {
		out = append(out, []any{column, "insert", asMap(values)})
	}
	return out
}

func asMap(in map[string]string) []any {
	entries := []any{}
	for _, k := range slices.Sorted(maps.Keys(in)) {
		entries = append(entries, []any{k, in[k]})
	}
	return []any{"map", entries}
}

// parseMappings reads "localnet:bridge,localnet:bridge".
func parseMappings(text string) []netstate.BridgeMapping {
	var out []netstate.BridgeMapping
	for _, entry := range strings.Split(text, ",") {
		if name, bridge, ok := strings.Cut(strings.TrimSpace(entry), ":"); ok {
			out = append(out, netstate.BridgeMapping{Localnet: name, Bridge: bridge})
		}
	}
	return out
}

// mergedMappings is the value with the mappings merged into it; nil where none is left.
func mergedMappings(have string, want *netstate.OVN) *string {
	now := netstate.Document{OVN: &netstate.OVN{BridgeMappings: parseMappings(have)}}
	var out []string
	for _, b := range netstate.Merge(now, netstate.Document{OVN: want}).OVN.BridgeMappings {
		out = append(out, b.Localnet+":"+b.Bridge)
	}
	if len(out) == 0 {
		return nil
	}
	return new(strings.Join(out, ","))
}
