// Package image is the format of seed images: which contents an image has, one layer for each, its manifest and labels,
// its checksums and its signature.
//
// The seed flows and lca-cli's "seed" verbs call it. It reads and writes through host ports and imports no adapter.
//
// Names at / of the image, labels and the keys of manifest.json are a contract with every program that reads seed images.
package image
