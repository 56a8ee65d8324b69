package wire

// Old and new addresses.
const (
	oldV4 = "192.0.2.1"
)
