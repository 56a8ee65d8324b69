// Package siteconfig is what one site has of its own, as a value: network, names, pull secret, mirrors, trust and so
// on. It decodes the file that a volume, a directory or the page delivers, in the product's format and in two older
// ones, and says everything that is wrong with it at once.
//
// The flows of internal/relocation, the portal, the maker of many sites and lca-cli call it. It does no I/O and must
// not import a host port, a flow or Kubernetes' clients.
package siteconfig
