// Package registry implements host.Registries over the distribution protocol
// (https://github.com/opencontainers/distribution-spec/blob/main/spec.md). Authentication is go-containerregistry's; uploads
// are the package's own, because they must resume and must not need their content twice in memory or on disk.
//
// The seed flows use it. The package imports host, files, the standard library and go-containerregistry.
package registry
