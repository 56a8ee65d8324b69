package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// secretFiles are what pre-pivot reads from the cluster for recert and must not outlive the change. They lie in the
// workspace, which only root may enter.
func secretFiles() []string { return []string{ipconfig.CryptoDir, host.RecertPullSecret} }

// evidenceSecrets are the files whose content must not appear in evidence.
func evidenceSecrets() operation.Secrets {
	return operation.Secrets{KeyDir: ipconfig.CryptoDir, Credentials: []string{host.RecertPullSecret, host.KubeletConfigJSON}}
}

// wipeSecrets removes them, and more files, from the system that runs.
func wipeSecrets(files host.Files, more ...string) error {
	var errs []error
	for _, f := range append(secretFiles(), more...) {
		if err := files.Remove(f); err != nil {
			errs = append(errs, fmt.Errorf("wipe %s: %w", f, err))
		}
	}
	return errors.Join(errs...)
}

func (p *PrePivot) wipeWorkspace(context.Context) error { return wipeSecrets(p.Files) }

// tryWipeSecrets never stops a rollback: cleanup removes the whole stateroot later.
func (r *Rollback) tryWipeSecrets(context.Context) error {
	if err := wipeSecrets(r.Files); err != nil {
		r.Log.Warn("keys and pull secret could not be wiped; cleanup removes them with the stateroot",
			"op", r.Request.OperationID, "error", err)
	}
	return nil
}

// evidenceBundle is what explains a failed change.
func (n Ports) evidenceBundle(operationID, cause string) operation.Bundle {
	return operation.Bundle{
		Files: n.Files, Logs: n.Logs, Clock: n.Clock, Operation: operationID, Cause: cause, Secrets: evidenceSecrets(),
		Documents: []operation.Document{
			operation.FileDocument(n.Files, "health.json", ipconfig.HealthFile),
			operation.FileDocument(n.Files, "waiting.json", ipconfig.WaitingFile),
			operation.FileDocument(n.Files, "nmstate.yaml", ipconfig.NMStateFile),
			{Name: "network.yaml", Get: n.observeNetwork},
			operation.FileDocument(n.Files, "recert-summary.yaml", host.RecertSummary),
		},
		Units: []string{
			ipconfig.UnitPrePivot, ipconfig.UnitIPConfiguration, ipconfig.UnitInitMonitor, ipconfig.UnitRollback,
			host.UnitKubelet, host.UnitCRIO,
			"NetworkManager.service", "nodeip-configuration.service", host.UnitOVSConfiguration, "dnsmasq.service",
		},
	}
}

func (n Ports) observeNetwork(ctx context.Context) ([]byte, error) {
	doc, err := n.Network.Observe(ctx)
	if err != nil {
		return nil, fmt.Errorf("observe the network: %w", err)
	}
	return doc.Encode()
}
