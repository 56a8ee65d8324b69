package cluster

// The tables of the control plane's certificates, for tests that make the keys themselves.
type (
	// SignerSpec is one certificate authority.
	SignerSpec = signerSpec
	// LeafSpec is one leaf certificate with every place that holds it.
	LeafSpec = leafSpec
	// BundleSpec is one bundle of authorities with every place that holds it.
	BundleSpec = bundleSpec
)

// Signers lists the authorities of an OpenShift control plane.
func Signers() []SignerSpec { return signers() }

// Leaves lists the leaf certificates of the site.
func Leaves(s Site) []LeafSpec { return leaves(s) }

// Bundles lists the CA bundles of the control plane.
func Bundles() []BundleSpec { return bundles() }
