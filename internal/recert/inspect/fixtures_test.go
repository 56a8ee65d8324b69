package inspect

// Old and new addresses.
const (
	oldV4, newV4 = "192.0.2.1", "198.51.100.20"
	oldV6, newV6 = "2001:db8::1", "2001:db8:77::20"
	lookalike    = "192.0.2.10"
)
