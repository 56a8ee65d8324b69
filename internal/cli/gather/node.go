package gather

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/archive"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operations"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

// Journals reads the system journal that a stateroot which does not run has kept.
type Journals interface {
	Stored(ctx context.Context, folder string, lines int) ([]byte, error)
}

// Node is what is read of a node.
type Node struct {
	Files       host.Files
	Deployments host.Deployments
	Units       host.Units
	Network     host.Network
	Logs        host.Logs
	Journals    Journals
}

// Lines of a unit's log, and of a system journal.
const (
	unitLines   = 2000
	systemLines = 5000
)

// companions are units beside those that run operations, and explain them.
var companions = []string{
	ipconfig.UnitIPConfiguration, ipconfig.UnitInitMonitor, ipconfig.UnitRollback, ipconfig.UnitCleanup,
	ipconfig.UnitRecertImage, ipconfig.UnitCheckCLI, ipconfig.UnitLastResort, ipconfig.UnitEmergency,
	host.UnitKubelet, host.UnitCRIO, host.UnitDnsmasq,
	seed.UnitRestoreUndo, relocation.UnitMonitor, relocation.UnitPage, relocation.UnitRollback, relocation.UnitCancel,
	"NetworkManager.service", "nodeip-configuration.service", host.UnitOVSConfiguration,
}

// workspace are the files of the workspace that hold no secret. The folder is never taken as a whole: the requests of a restore and of
// a relocation, which lie there too, carry keys, passwords and pull secrets.
var workspace = []string{
	ipconfig.RequestFile, ipconfig.PostPivotFile, ipconfig.AutoRollbackFile, ipconfig.MonitorModeFile, ipconfig.NMStateFile,
	ipconfig.WatchedFile, ipconfig.ForecastFile,
}

// settings are files of the system that decide about its network.
var settings = []string{host.ResolvConf, host.HostnameFile, host.NodeIPHint, host.PrimaryIP, host.DnsmasqOverrides, host.DnsmasqFilter,
	host.OVNDefaultBridge, host.KernelCmdline}

// What is never taken, and whose secrets are blanked in what is: documents with secrets in them, and files that are nothing else.
var (
	secretDocuments = []string{relocation.RequestFile, relocation.SiteConfigFile, relocation.TypedFile, relocation.HandoverFile,
		relocation.NMStateFile, seed.RestoreFile, seed.RestoreSiteFile, seed.RestoreAuthFile, seed.AuthFile, host.RecertConfig,
		host.LocalKubeconfig, host.LBExtKubeconfig}
	secretFiles = []string{relocation.PasswordFile, seed.SigningKeyFile, seed.SigningPasswordFile}
)

// Redactor knows the secrets of the node: those of the workspace, the connections of NetworkManager and the pull secret.
func (n Node) Redactor(stateroots []string) operation.Redactor {
	r := operation.NewRedactor(n.Files, operation.Secrets{
		KeyDir: ipconfig.CryptoDir, Credentials: []string{host.RecertPullSecret, host.KubeletConfigJSON, seed.AuthFile}})
	documents := slices.Clone(secretDocuments)
	for _, dir := range n.connectionDirs() {
		names, _ := n.Files.List(dir)
		for _, name := range names {
			documents = append(documents, path.Join(dir, name))
		}
	}
	n.learnSecrets(r.LearnDocument, documents, stateroots)
	n.learnSecrets(r.LearnSecret, secretFiles, stateroots)
	return r
}

// connectionDirs are the folders of NetworkManager's connections: its own, and the one that a machine config fills where that is another.
func (n Node) connectionDirs() []string {
	dir, _, err := host.FindConnectionsDir(n.Files)
	if err != nil || dir == host.NMConnections {
		return []string{host.NMConnections}
	}
	return []string{dir, host.NMConnections}
}

// learnSecrets reads files of the system that runs, and those of the other stateroots that lie in /var.
func (n Node) learnSecrets(from func([]byte), files, stateroots []string) {
	for _, file := range files {
		all := []string{file}
		for _, root := range stateroots {
			if strings.HasPrefix(file, "/var/") {
				all = append(all, host.InVar(root, file))
			}
		}
		for _, f := range all {
			if data, err := n.Files.Read(f); err == nil {
				from(data)
			}
		}
	}
}

// Collect adds everything. It reads only, and notes what it cannot read.
func (n Node) Collect(ctx context.Context, a *archive.Archive, others []string) error {
	for _, add := range []func(context.Context, *archive.Archive) error{n.addSystem, n.addUnits, n.addNetwork} {
		if err := add(ctx, a); err != nil {
			return err
		}
	}
	if err := n.addRecords(a, "running", func(file string) string { return file }); err != nil {
		return err
	}
	for _, root := range others {
		at := func(file string) string { return host.InVar(root, file) }
		if err := n.addRecords(a, root, at); err != nil {
			return err
		}
		journal, err := n.Journals.Stored(ctx, at("/var/log/journal"), systemLines)
		if err := a.Add(path.Join(root, "journal.log"), journal, err); err != nil {
			return err
		}
	}
	return nil
}

// Others are the stateroots that do not run.
func (n Node) Others(ctx context.Context) ([]string, error) {
	all, err := n.Deployments.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list deployments: %w", err)
	}
	booted, err := host.Booted(all)
	if err != nil {
		return nil, fmt.Errorf("find the booted deployment: %w", err)
	}
	roots, err := n.Deployments.Stateroots(ctx)
	if err != nil {
		return nil, fmt.Errorf("list stateroots: %w", err)
	}
	return slices.DeleteFunc(roots, func(r string) bool { return r == booted.Stateroot }), nil
}

// addSystem adds what boots, and the system's own journal.
func (n Node) addSystem(ctx context.Context, a *archive.Archive) error {
	all, err := n.Deployments.List(ctx)
	data, encodeErr := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = encodeErr
	}
	if err := a.Add("deployments.json", data, err); err != nil {
		return err
	}
	journal, err := n.Logs.System(ctx, systemLines)
	return a.Add("running/journal.log", journal, err)
}

// addUnits adds the state and the log of each unit.
func (n Node) addUnits(ctx context.Context, a *archive.Archive) error {
	states := map[string]host.UnitState{}
	var failed error
	for _, unit := range append(operations.Units(), companions...) {
		state, err := n.Units.State(ctx, unit)
		if err != nil {
			failed = err
			continue
		}
		states[unit] = state
		if !state.Exists() {
			continue
		}
		log, err := n.Logs.Unit(ctx, unit, unitLines)
		if err := a.Add(path.Join("units", unit+".log"), log, err); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(states, "", "  ")
	if len(states) == 0 {
		err = failed
	}
	return a.Add("units/states.json", data, err)
}

// addNetwork adds the observed network and the files that decide about it. Of NetworkManager's connections the names are enough: the files
// have keys.
func (n Node) addNetwork(ctx context.Context, a *archive.Archive) error {
	var data []byte
	doc, err := n.Network.Observe(ctx)
	if err == nil {
		data, err = doc.Encode()
	}
	if err := a.Add("network/observed.yaml", data, err); err != nil {
		return err
	}
	var names []string
	var unlisted error
	for _, dir := range n.connectionDirs() {
		in, err := n.Files.List(dir)
		unlisted = errors.Join(unlisted, err)
		for _, name := range in {
			names = append(names, path.Join(dir, name))
		}
	}
	if err := a.Add("network/connections.txt", []byte(strings.Join(names, "\n")), unlisted); err != nil {
		return err
	}
	for _, file := range settings {
		data, err := n.Files.Read(file)
		if err := a.Add(path.Join("network", strings.ReplaceAll(strings.TrimPrefix(file, "/"), "/", "_")), data, err); err != nil {
			return err
		}
	}
	return nil
}

// addRecords adds what operations left in a stateroot: journals, evidence, requests, the exported object, the summary of recert.
func (n Node) addRecords(a *archive.Archive, name string, at func(string) string) error {
	files := append(slices.Clone(workspace), ipconfig.SavedObjectFile, ipconfig.LastResortLog, host.RecertSummary)
	journals, err := n.Files.List(at(operation.JournalDir))
	if err := a.Add(path.Join(name, "journal"), nil, err); err != nil {
		return err
	}
	for _, journal := range journals {
		files = append(files, path.Join(operation.JournalDir, journal))
	}
	operations, _ := n.Files.List(at(operation.EvidenceDir)) // the journals' error says as much
	for _, id := range operations {
		bundle, _ := n.Files.List(at(operation.EvidencePath(id)))
		for _, file := range bundle {
			files = append(files, path.Join(operation.EvidencePath(id), file))
		}
	}
	for _, file := range files {
		data, err := n.Files.Read(at(file))
		if err := a.Add(path.Join(name, strings.TrimPrefix(file, "/")), data, err); err != nil {
			return err
		}
	}
	return nil
}
