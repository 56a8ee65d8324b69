// Package intake is where a site and its node meet: configurations arrive here, from volumes, directories and the page, and
// the page learns here what would happen, what happens, and what came of it.
//
// lca-cli builds it. It imports delivery, portal and onsite, no adapter. The page runs in a process of its own: both sides
// share files only, so that either may be restarted.
package intake
