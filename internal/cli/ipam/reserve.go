package ipam

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/manifest"
)

// registrations is the answer of reserve: as YAML or JSON, a List to apply to a cluster.
type registrations struct{ all []manifest.Registration }

// MarshalJSON writes the objects without the status that only a cluster knows. Addresses come before claims: an operator at work
// keeps them from other claims as soon as they are there.
func (r registrations) MarshalJSON() ([]byte, error) {
	var objects []any
	for _, one := range r.all {
		objects = append(objects, one.Address)
	}
	for _, one := range r.all {
		objects = append(objects, one.Claim)
	}
	items := []map[string]any{}
	for _, o := range objects {
		data, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		var m map[string]any
		if err := json.Unmarshal(data, &m); err != nil {
			return nil, err
		}
		delete(m, "status")
		items = append(items, m)
	}
	return json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}

// Text implements output.Answer.
func (r registrations) Text(w io.Writer) error {
	for _, one := range r.all {
		a := one.Address.Spec
		_, err := fmt.Fprintf(w, "%s/%d of pool %s/%s for claim %s\n",
			a.Address, a.Prefix, one.Address.Namespace, a.Pool.Name, one.Claim.Name)
		if err != nil {
			return err
		}
	}
	return nil
}

func (w Wiring) newReserveCommand() *cobra.Command {
	var in input
	var pools, hosts []string
	var address, iface string
	cmd := &cobra.Command{
		Use:   "reserve -f FILE --pool POOL --host HOST",
		Short: "Register addresses for hosts before the cluster exists",
		Long: "Write claims and addresses to apply to the cluster once it exists. Such a claim has no\n" +
			"owner until its host's machine adopts it. A host that has an address keeps it.\n" +
			"With the BareMetalHosts among the files a claim names its host as they do.",
		Example: "  kubectl lca ipam reserve -f pools.yaml --pool storage --host master-0 --host master-1 > masters.yaml",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v, err := w.loadInventory(in)
			if err != nil {
				return err
			}
			reservations, err := parseReservations(pools, hosts, iface, address)
			if err != nil {
				return err
			}
			got, err := v.Reserve(reservations, w.poolOptions())
			if err != nil {
				return err
			}
			return w.printAnswer(in, registrations{got})
		},
	}
	in.addFlags(cmd, output.YAML)
	cmd.Flags().StringArrayVar(&pools, "pool", nil, "pool, as name or namespace/name; may be repeated")
	cmd.Flags().StringArrayVar(&hosts, "host", nil, "name of the host; may be repeated")
	cmd.Flags().StringVar(&iface, "interface", "", "interface of the hosts that has the address, as machines name it")
	cmd.Flags().StringVar(&address, "address", "", "register this address; only with one host and one pool")
	return cmd
}

func parseReservations(pools, hosts []string, iface, address string) (out []manifest.Reservation, err error) {
	if len(pools) == 0 || len(hosts) == 0 {
		return nil, fmt.Errorf("say which --pool and which --host")
	}
	if address != "" && len(pools)+len(hosts) > 2 {
		return nil, fmt.Errorf("--address is for one host and one pool, not for %s of %s",
			strings.Join(hosts, ", "), strings.Join(pools, ", "))
	}
	for _, h := range hosts {
		if problems := validation.IsDNS1123Subdomain(h); len(problems) > 0 {
			return nil, fmt.Errorf("--host %s is not a name that Kubernetes allows: %s", h, problems[0])
		}
		for _, p := range pools {
			reservation := manifest.Reservation{Pool: p, Host: h, Interface: iface}
			if address != "" {
				if reservation.Address, err = ipam.ParseAddr(address); err != nil {
					return nil, err
				}
			}
			out = append(out, reservation)
		}
	}
	return out, nil
}
