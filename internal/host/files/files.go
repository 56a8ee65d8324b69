package files

// Files implements host.Files.
type Files struct{ root string }

// New returns the files beneath root.
func New(root string) *Files { return &Files{root: root} }
