package profile

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Get reads a property; the zero value where it is missing or of another type.
func Get[T any](p map[string]dbus.Variant, name string) T {
	v, _ := p[name].Value().(T)
	return v
}

// Section is the name of a family's settings.
func Section(f netstate.Family) string { return strings.ToLower(f.String()) }

// SameAddress compares an entry of address-data with a prefix.
func SameAddress(entry map[string]dbus.Variant, p netip.Prefix) bool {
	a, err := netip.ParseAddr(Get[string](entry, "address"))
	return err == nil && a == p.Addr() && Get[uint32](entry, "prefix") == uint32(p.Bits())
}

// ProfileRoutes reads a profile's routes, the gateway first; raw holds the entries
// behind them, nil for the gateway.
func ProfileRoutes(s Settings, iface string, f netstate.Family) ([]netstate.Route, []map[string]dbus.Variant) {
	sec := Section(f)
	var out []netstate.Route
	var raw []map[string]dbus.Variant
	if gw := Value[string](s, sec, "gateway"); gw != "" {
		r := netstate.Route{Destination: f.Default().String(), NextHopAddress: gw, NextHopInterface: iface}
		if m := Value[int64](s, sec, "route-metric"); m > 0 {
			r.Metric = int(m)
		}
		r.TableID = int(Value[uint32](s, sec, "route-table"))
		out, raw = append(out, r), append(raw, nil)
	}
	for _, e := range s.Dicts(sec, "route-data") {
		r := netstate.Route{
			Destination:      fmt.Sprintf("%s/%d", Get[string](e, "dest"), Get[uint32](e, "prefix")),
			NextHopAddress:   Get[string](e, "next-hop"),
			NextHopInterface: iface,
			Metric:           int(Get[uint32](e, "metric")),
			TableID:          int(Get[uint32](e, "table")),
			Source:           Get[string](e, "src"),
			CWND:             int(Get[uint32](e, "cwnd")),
			Weight:           int(Get[uint32](e, "weight")),
		}
		if kind := Get[string](e, "type"); kind == "blackhole" || kind == "unreachable" || kind == "prohibit" {
			r.RouteType, r.NextHopInterface = kind, ""
		}
		out, raw = append(out, r), append(raw, e)
	}
	return out, raw
}

// SaysMetric tells whether the metric of a route is the profile's own, and not NetworkManager's choice.
func SaysMetric(s Settings, route netstate.Route) bool {
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		routes, _ := ProfileRoutes(s, route.NextHopInterface, f)
		for _, r := range routes {
			if netstate.SameRoute(r, route) {
				return r.Metric != 0 || Value[int64](s, Section(f), "route-metric") > 0
			}
		}
	}
	return true
}

// Implied is what a profile promises: its fixed addresses and routes, mentioned in the
// document or not.
func Implied(iface string, s Settings) netstate.Document {
	i := netstate.Interface{Name: iface, State: netstate.StateUp}
	var d netstate.Document
	d.Routes = &netstate.Routes{}
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		method := Value[string](s, Section(f), "method")
		if method != "manual" && method != "auto" {
			continue
		}
		ip := &netstate.IP{Enabled: new(true)}
		for _, e := range s.Dicts(Section(f), "address-data") {
			ip.Addresses = append(ip.Addresses, netstate.Address{
				IP: Get[string](e, "address"), PrefixLength: int(Get[uint32](e, "prefix")),
			})
		}
		if f == netstate.IPv4 {
			i.IPv4 = ip
		} else {
			i.IPv6 = ip
		}
		if method == "manual" {
			routes, _ := ProfileRoutes(s, iface, f)
			d.Routes.Config = append(d.Routes.Config, routes...)
		}
	}
	d.Interfaces = []netstate.Interface{i}
	return d
}

// fileScheme is how NetworkManager writes the place of a certificate or a key, with a zero at its end.
const fileScheme = "file://"

// FileValue is a file's path as a property has it.
func FileValue(path string) []byte { return append([]byte(fileScheme+path), 0) }

// FileOf is the path in such a property; empty for what is no file.
func FileOf(value []byte) string {
	path, isFile := strings.CutPrefix(strings.TrimRight(string(value), "\x00"), fileScheme)
	if !isFile {
		return ""
	}
	return path
}
