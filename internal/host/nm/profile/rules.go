package profile

import (
	"fmt"
	"strconv"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Rule reads an entry of routing-rules.
func Rule(e map[string]dbus.Variant) netstate.RouteRule {
	r := netstate.RouteRule{
		Family: "ipv4", Priority: int(Get[uint32](e, "priority")), RouteTable: int(Get[uint32](e, "table")),
		IIF: Get[string](e, "iifname"),
	}
	if Get[int32](e, "family") == unix.AF_INET6 {
		r.Family = "ipv6"
	}
	r.IPFrom = rulePrefix(e, "from")
	r.IPTo = rulePrefix(e, "to")
	if v, ok := e["fwmark"].Value().(uint32); ok {
		r.FwMark = new(netstate.Mark(v))
	}
	if v, ok := e["fwmask"].Value().(uint32); ok {
		r.FwMask = new(netstate.Mark(v))
	}
	if v, ok := e["suppress-prefixlength"].Value().(int32); ok {
		r.SuppressPfx = new(int(v))
	}
	r.Action = ruleActions[Get[byte](e, "action")]
	return r
}

// ruleActions are the kernel's numbers of what a rule may do besides choosing a table (FR_ACT_* of linux/fib_rules.h).
var ruleActions = map[byte]string{
	unix.FR_ACT_BLACKHOLE:   "blackhole",
	unix.FR_ACT_UNREACHABLE: "unreachable",
	unix.FR_ACT_PROHIBIT:    "prohibit",
}

// RuleAction is the name of an action that is not the choice of a table; empty for that one.
func RuleAction(number byte) string { return ruleActions[number] }

func rulePrefix(e map[string]dbus.Variant, key string) *string {
	a := Get[string](e, key)
	if a == "" {
		return nil
	}
	return new(a + "/" + strconv.Itoa(int(Get[byte](e, key+"-len"))))
}

// RuleEntry is the rule in NetworkManager's form.
func RuleEntry(r netstate.RouteRule, f netstate.Family) (map[string]dbus.Variant, error) {
	family := int32(unix.AF_INET)
	if f == netstate.IPv6 {
		family = unix.AF_INET6
	}
	e := map[string]dbus.Variant{"family": dbus.MakeVariant(family), "priority": dbus.MakeVariant(uint32(r.Priority))}
	for key, text := range map[string]*string{"from": r.IPFrom, "to": r.IPTo} {
		if text == nil || *text == "" {
			continue
		}
		p, err := netstate.ParseDestination(*text)
		if err != nil {
			return nil, fmt.Errorf("parse the destination of a rule: %w", err)
		}
		e[key], e[key+"-len"] = dbus.MakeVariant(p.Addr().String()), dbus.MakeVariant(byte(p.Bits()))
	}
	if r.RouteTable != 0 {
		e["table"] = dbus.MakeVariant(uint32(r.RouteTable))
	}
	if r.FwMark != nil {
		mask := netstate.Mark(0xffffffff)
		if r.FwMask != nil {
			mask = *r.FwMask
		}
		e["fwmark"], e["fwmask"] = dbus.MakeVariant(uint32(*r.FwMark)), dbus.MakeVariant(uint32(mask))
	}
	if r.IIF != "" {
		e["iifname"] = dbus.MakeVariant(r.IIF)
	}
	if r.SuppressPfx != nil {
		e["suppress-prefixlength"] = dbus.MakeVariant(int32(*r.SuppressPfx))
	}
	if r.Action != "" {
		action, err := ruleAction(r.Action)
		if err != nil {
			return nil, err
		}
		e["action"] = dbus.MakeVariant(action)
	} else if r.RouteTable == 0 {
		e["table"] = dbus.MakeVariant(uint32(netstate.MainTable))
	}
	return e, nil
}

func ruleAction(name string) (byte, error) {
	for number, n := range ruleActions {
		if n == name {
			return number, nil
		}
	}
	return 0, fmt.Errorf("action %q is none of blackhole, unreachable, prohibit", name)
}
