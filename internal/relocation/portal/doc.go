// Package portal is the page that a technician opens on a laptop or a phone to give a node its site configuration: a
// form, an upload, the plan in plain words, the progress, the result and the hand-over file. lca-cli serves it on the
// node's known address until the change is committed.
//
// It drives the flow on site through the interface Site and knows neither the flow nor the node. It imports the
// standard library, siteconfig and sitecode only.
package portal
