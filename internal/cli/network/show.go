package network

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// errKernel answers nmstatectl's -k.
var errKernel = errors.New("--kernel is not supported: this program configures NetworkManager, so that changes survive a reboot")

func (w Wiring) newShowCommand() *cobra.Command {
	var f form
	var kernel, config bool
	cmd := &cobra.Command{
		Use: "show [INTERFACE...]", Aliases: []string{"s"},
		Short: "Show the network of this node, or interfaces of it",
		Long: "Show the network of this node as an nmstate document. Names select interfaces, their routes and the rules of the tables\n" +
			"of these; * and ? stand for letters, as in 'eno*'.",
		RunE: func(cmd *cobra.Command, names []string) error {
			if kernel {
				return errKernel
			}
			d, err := w.observeNode(cmd.Context())
			if err != nil {
				return fmt.Errorf("show the network: %w", err)
			}
			w.warnOfTrials(cmd.Context())
			if len(names) > 0 {
				if d, err = selectInterfaces(d, names); err != nil {
					return err
				}
				if len(d.Interfaces) == 0 {
					w.Log.Warn("no interface has the name", "names", names)
				}
			}
			if config {
				d = stripRuntimeState(d)
			}
			return w.documents().printDocument(f, d.WithHops())
		},
	}
	f.addFlags(cmd)
	cmd.Flags().BoolVarP(&config, "running-config", "r", false, "show only what is configured: no leased addresses, no running routes")
	cmd.Flags().BoolVarP(&kernel, "kernel", "k", false, "not supported")
	return cmd
}

// selectInterfaces keeps the named interfaces, what routes over them, and the rules that lead into the tables of these routes.
func selectInterfaces(d netstate.Document, names []string) (netstate.Document, error) {
	for _, n := range names {
		if _, err := path.Match(n, ""); err != nil {
			return d, fmt.Errorf("show: %q is not a pattern: %w", n, err)
		}
	}
	named := func(name string) bool {
		return slices.ContainsFunc(names, func(n string) bool { ok, _ := path.Match(n, name); return ok })
	}
	out := netstate.Document{Interfaces: []netstate.Interface{}}
	for _, i := range d.Interfaces {
		if named(i.Name) {
			out.Interfaces = append(out.Interfaces, i)
		}
	}
	if d.Routes == nil || len(out.Interfaces) == 0 {
		return out, nil
	}
	away := func(r netstate.Route) bool { return !named(r.NextHopInterface) }
	out.Routes = &netstate.Routes{
		Running: slices.DeleteFunc(slices.Clone(d.Routes.Running), away), Config: slices.DeleteFunc(slices.Clone(d.Routes.Config), away),
	}
	if rules := rulesInto(out.Routes.Config, d.RouteRules); len(rules) > 0 {
		out.RouteRules = &netstate.RouteRules{Config: rules}
	}
	return out, nil
}

// rulesInto are the rules that lead into the tables of the routes.
func rulesInto(routes []netstate.Route, all *netstate.RouteRules) (out []netstate.RouteRule) {
	if all == nil {
		return nil
	}
	for _, rule := range all.Config {
		if slices.ContainsFunc(routes, func(r netstate.Route) bool { return rule.RouteTable != 0 && r.Table() == rule.RouteTable }) {
			out = append(out, rule)
		}
	}
	return out
}

// stripRuntimeState leaves out what the network or the kernel gave, so that the document can be applied elsewhere or later.
func stripRuntimeState(d netstate.Document) netstate.Document {
	d.Interfaces = slices.DeleteFunc(slices.Clone(d.Interfaces), func(i netstate.Interface) bool { return i.State == netstate.StateIgnore })
	for n, i := range d.Interfaces {
		i.PermanentMACAddress, i.MinMTU, i.MaxMTU, i.Driver = "", 0, 0, ""
		if i.LLDP != nil {
			i.LLDP = &netstate.LLDP{Enabled: i.LLDP.Enabled}
		}
		for _, ip := range []**netstate.IP{&i.IPv4, &i.IPv6} {
			if *ip == nil {
				continue
			}
			own := **ip
			auto := own.Auto() // a lease may be without end
			own.Addresses = slices.DeleteFunc(slices.Clone(own.Addresses), func(a netstate.Address) bool {
				return a.Dynamic() || auto && !a.LinkLocal()
			})
			*ip = &own
		}
		d.Interfaces[n] = i
	}
	if d.Routes != nil {
		d.Routes = &netstate.Routes{Config: d.Routes.Config}
	}
	if d.DNS != nil {
		d.DNS = &netstate.DNS{Config: d.DNS.Config}
	}
	if d.Hostname != nil {
		d.Hostname = &netstate.Hostname{Config: d.Hostname.Config}
	}
	return d
}
