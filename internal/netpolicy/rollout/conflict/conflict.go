// Package conflict finds the keys on which two nmstate documents want different values. It is pure, and knows of the format only how
// entries of its lists are named.
//
// Called by internal/controller/netpolicy. It imports the standard library only.
package conflict

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Document maps each key of a document, such as interfaces[eth1].mtu, to its value.
type Document map[string]string

// ordered are lists whose value is the whole list.
var ordered = map[string]bool{"server": true, "search": true, "options": true}

// Flatten reads a document given as JSON.
func Flatten(raw []byte) (Document, error) {
	if len(raw) == 0 {
		return Document{}, nil
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	d := Document{}
	d.addValue("", value)
	return d, nil
}

// Keys lists, in order, the keys on which two documents differ, with both values.
func Keys(a, b Document) []string {
	var differ []string
	for key, want := range a {
		if other, both := b[key]; both && want != other {
			differ = append(differ, fmt.Sprintf("%s: %s, %s", key, want, other))
		}
	}
	slices.Sort(differ)
	return differ
}

func (d Document) addValue(path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			d.addValue(strings.TrimPrefix(path+"."+key, "."), inner)
		}
	case []any:
		d.addList(path, v)
	default:
		d[path] = textOf(v)
	}
}

// addList takes entries apart that have a name of their own. Routes and rules add up, and so do not conflict unless one policy removes
// what another adds.
func (d Document) addList(path string, entries []any) {
	last := path[strings.LastIndexByte(path, '.')+1:]
	if ordered[last] {
		d[path] = textOf(entries)
		return
	}
	for _, e := range entries {
		entry, is := e.(map[string]any)
		switch id := identityOf(path, entry); {
		case !is:
			d[path] = textOf(entries)
			return
		case strings.HasPrefix(path, "routes.") || strings.HasPrefix(path, "route-rules."):
			d[path+"["+id+"]"] = stateOf(entry)
		case id == "":
			d[path] = textOf(entries)
			return
		default:
			d.addEntry(path+"["+id+"]", entry)
		}
	}
}

// addEntry adds an entry but for what names it. State and name of an interface are compared; values in the same words do not differ.
func (d Document) addEntry(path string, entry map[string]any) {
	for key, inner := range entry {
		if key != "name" {
			d.addValue(path+"."+key, inner)
		}
	}
	if strings.HasPrefix(path, "interfaces[") && strings.Count(path, "[") == 1 {
		d[path+".state"] = stateOf(entry)
	}
}

// identityOf is what tells an entry from others of the same list.
func identityOf(path string, e map[string]any) string {
	part := func(key string) string { return textOf(e[key]) }
	switch {
	case e == nil:
		return ""
	case strings.HasPrefix(path, "routes."):
		return strings.Join([]string{part("destination"), part("next-hop-interface"), part("next-hop-address"), part("table-id")}, " ")
	case strings.HasPrefix(path, "route-rules."):
		return strings.Join([]string{part("ip-from"), part("ip-to"), part("priority"), part("route-table")}, " ")
	case path == "interfaces" && strings.HasPrefix(part("type"), "ovs-bridge"):
		return part("name") + " ovs-bridge"
	case e["name"] != nil:
		return part("name")
	case e["localnet"] != nil:
		return part("localnet")
	}
	return ""
}

func stateOf(entry map[string]any) string {
	if s, is := entry["state"].(string); is {
		return s
	}
	return "up"
}

// textOf compares numbers and booleans with the strings that mean the same.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	data, _ := json.Marshal(v) // it came from JSON
	return string(data)
}
