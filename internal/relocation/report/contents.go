package report

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
)

func (s *survey) checkCertificates(context.Context) Check {
	if s.cryptoErr != nil {
		return cannotCheck("the life of the certificates", s.cryptoErr)
	}
	c := s.crypto
	ending := relocation.EndingBefore(c.Certificates, s.report.ShelfEnd)
	s.report.Ending = ending
	var details []string
	for _, e := range ending {
		how := "renewed on site"
		if !e.Renewed {
			how = "NOT renewed: the key of its authority is not in the cluster"
		}
		details = append(details, e.String()+": "+how)
	}
	lost := len(relocation.NotRenewed(ending))
	switch {
	case len(ending) == 0:
		return okCheck("all %d certificates last longer than %d days", len(c.Certificates), s.report.ShelfDays)
	case lost > 0:
		return Check{Severity: Failure, Details: details, Message: fmt.Sprintf("%s within %d days, %d of them for good",
			countNoun(len(ending), "certificate ends", "certificates end"), s.report.ShelfDays, lost),
			Hint: "Replace those that are not renewed, or have the site configuration bring others."}
	}
	return Check{Severity: Notice, Details: details, Message: fmt.Sprintf("%s within %d days; the reconfiguration on site renews each",
		countNoun(len(ending), "certificate ends", "certificates end"), s.report.ShelfDays),
		Hint: "Only the factory's own cluster, after 'cancel', would start with them as they are."}
}

func (s *survey) checkRecert(context.Context) Check {
	if s.cryptoErr != nil {
		return cannotCheck("whether the cluster can get a new identity", s.cryptoErr)
	}
	c := s.crypto
	if len(c.Blocked) > 0 {
		return Check{Severity: Failure, Message: "recert could not rewrite the cluster on site", Details: c.Blocked,
			Hint: "'lca-cli recert plan' lists every reason."}
	}
	return okCheck("recert can rewrite %d certificates and the cluster's objects", len(c.Certificates))
}

func (s *survey) checkEncryption(ctx context.Context) Check {
	kind, err := s.Cluster.Encryption(ctx)
	switch {
	case err != nil:
		return cannotCheck("the encryption of etcd", err)
	case kind != "":
		return Check{Severity: Failure, Message: "values are stored in etcd encrypted (" + kind + "), which recert cannot rewrite",
			Hint: "Set spec.encryption.type of APIServer cluster to identity, and wait until all values are stored in plain."}
	}
	return okCheck("values are stored in plain")
}

func (s *survey) checkImages(ctx context.Context) Check {
	wanted, err := s.Cluster.Images(ctx)
	if err != nil {
		return cannotCheck("the images of the pods", err)
	}
	have, err := s.Reports.Images(ctx)
	if err != nil {
		return cannotCheck("the images on the node", err)
	}
	if have == nil {
		return Check{Severity: Notice, Message: "the container runtime lists no images, so that none can be compared"}
	}
	var missing, pulled []string
	for _, i := range wanted {
		switch {
		case !isPresent(i, have):
			missing = append(missing, i.Pod+": "+i.Name)
		case i.Always:
			pulled = append(pulled, i.Pod+": "+i.Name)
		}
	}
	switch {
	case len(missing) > 0:
		return Check{Severity: Failure, Details: missing,
			Message: countNoun(len(missing), "image of a pod is", "images of pods are") + " not on the node",
			Hint:    "Wait until every pod has started, or pull them: the site would need a registry."}
	case len(pulled) > 0:
		return Check{Severity: Warning, Details: pulled,
			Message: countNoun(len(pulled), "image is", "images are") + " pulled at each start (imagePullPolicy: Always)",
			Hint:    "Without a registry on site these pods do not start. Set imagePullPolicy to IfNotPresent."}
	}
	return okCheck("all %d images of pods are on the node", len(wanted))
}

// present: by its name, by the runtime's name for it, or by its digest under another name, as a mirror has it.
func isPresent(i Image, have []host.ContainerImage) bool {
	_, digest, _ := strings.Cut(i.Name, "@")
	return slices.ContainsFunc(have, func(h host.ContainerImage) bool {
		if slices.Contains(h.Tags, i.Name) || i.ID != "" && slices.Contains(h.Digests, i.ID) {
			return true
		}
		return slices.ContainsFunc(h.Digests, func(d string) bool {
			return d == i.Name || digest != "" && strings.HasSuffix(d, "@"+digest)
		})
	})
}

// checkMachineConfig names the files that the reconfiguration writes and a MachineConfig owns: the daemon degrades its pool when
// they differ.
func (s *survey) checkMachineConfig(context.Context) Check {
	config, err := bringup.ReadMachineConfig(s.Files)
	if err != nil {
		return cannotCheck("the files of the MachineConfig", err)
	}
	var stuck, kept []string
	for _, file := range slices.Sorted(maps.Keys(config.Owned)) {
		switch {
		case file == host.NodeIPHint:
			kept = append(kept, file+": it stays as it is")
		case file == host.DnsmasqOverrides, path.Dir(file) == host.NMConnections, s.hasOtherText(file):
			stuck = append(stuck, file)
		}
	}
	switch {
	case len(stuck) > 0:
		return Check{Severity: Failure, Details: stuck,
			Message: "MachineConfig " + config.Name + " owns files that the reconfiguration writes",
			Hint:    "Take them out of the MachineConfig, or render it again with this release ('lca-cli relocation machineconfig')."}
	case len(kept) > 0 && !s.isInternalNode():
		return Check{Severity: Warning, Details: kept, Message: "MachineConfig " + config.Name + " owns the node-IP hint",
			Hint: "On a site with another machine network kubelet would look for its address in the factory's."}
	}
	return okCheck("no MachineConfig owns what the reconfiguration writes")
}

// otherText: the file is a unit of ours, and this release would write another text.
func (s *survey) hasOtherText(file string) bool {
	want, ours := map[string]string{
		path.Join(host.UnitDir, relocation.UnitPage):        relocation.PageUnit,
		path.Join(host.UnitDir, relocation.UnitReconfigure): relocation.ReconfigureUnit,
		path.Join(host.UnitDir, relocation.UnitMonitor):     relocation.MonitorUnit,
	}[file]
	if !ours {
		return false
	}
	have, err := s.Files.Read(file)
	return err != nil || string(have) != want
}

// internalNode: the cluster knows the node by its internal address, which no site changes.
func (s *survey) isInternalNode() bool { return s.prepared && s.record.Decoupled() }
