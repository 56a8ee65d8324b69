package ipconfig

import (
	"context"
	"fmt"
	"strconv"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/rehearsal"
)

// rehearseChange has lca-cli rehearse what spec asks for, while the node is at rest and the annotation has a value that the latest report
// does not name. A node that is held is asked again later.
func (r *Reconciler) rehearseChange(ctx context.Context, ipc *lcav1.IPConfig, o observation) error {
	asked := ipc.Annotations[lcav1.RehearseAnnotation]
	if asked == "" || o.holder != nil || o.rehearsal != nil && o.rehearsal.Request == asked {
		return nil
	}
	unit, err := r.Node.Units.State(ctx, ipconfig.UnitRehearse)
	if err != nil {
		return fmt.Errorf("observe %s: %w", ipconfig.UnitRehearse, err)
	}
	if unit.Running() || !r.rehearsing.Ready(o.now) {
		return nil
	}
	if err := r.InstallCLI.Install(); err != nil {
		return fmt.Errorf("install lca-cli: %w", err)
	}
	return r.retryJob(ctx, o, &r.rehearsing, cliJob(ipconfig.UnitRehearse, rehearsalArgs(ipc.Spec, asked)...))
}

// rehearsalArgs are the arguments of lca-cli ip-config for a spec.
func rehearsalArgs(spec lcav1.IPConfigSpec, asked string) []string {
	argv := []string{"rehearse", "--asked=" + asked}
	add := func(flag, value string) {
		if value != "" {
			argv = append(argv, "--"+flag+"="+value)
		}
	}
	if v4 := spec.IPv4; v4 != nil {
		add("ipv4-address", v4.Address)
		add("ipv4-machine-network", v4.MachineNetwork)
		add("ipv4-gateway", v4.Gateway)
	}
	if v6 := spec.IPv6; v6 != nil {
		add("ipv6-address", v6.Address)
		add("ipv6-machine-network", v6.MachineNetwork)
		add("ipv6-gateway", v6.Gateway)
	}
	for _, server := range spec.DNSServers {
		add("dns-server", server)
	}
	if spec.VLANID != nil {
		add("vlan-id", strconv.Itoa(int(*spec.VLANID)))
	}
	return argv
}

// observeRehearsal reads the latest report. One that cannot be read is none: the next rehearsal replaces it.
func (r *Reconciler) observeRehearsal(_ context.Context, o *observation) error {
	report, found, err := rehearsal.ReadReport(r.Node.Files)
	if err != nil {
		r.Log.Warn("the report of the latest rehearsal cannot be read", "file", rehearsal.ReportFile, "error", err)
	}
	if !found || err != nil {
		return nil //nolint:nilerr // nothing depends on it
	}
	report.Message = status.Clip(report.Message)
	for i := range report.Proofs {
		report.Proofs[i].Message = status.Clip(report.Proofs[i].Message)
	}
	o.rehearsal = &report
	return nil
}
