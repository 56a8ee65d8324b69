package nodejob

// Installer puts the agent's lca-cli on the node, unless it is there. nil leaves the node's own.
type Installer func() error

// Install is called before a request is handed over.
func (i Installer) Install() error {
	if i == nil {
		return nil
	}
	return i()
}
