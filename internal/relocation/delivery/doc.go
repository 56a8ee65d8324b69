// Package delivery finds the site configuration that somebody brings to the node: on a volume with a known label, or
// in a directory. Whatever is there is foreign input: it reads regular files only, follows no link, and bounds what it
// reads.
//
// The flow on site and lca-cli call it. It works on the port host.Volumes and on io/fs, and imports siteconfig beside
// them; it must not import an adapter or a flow.
package delivery
