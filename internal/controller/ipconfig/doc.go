// Package ipconfig reconciles the one IPConfig of the cluster.
//
//	observe -> decide (gate, validate, health, hand over) -> report
//
// observe.go reads everything a decision rests on; state.go says, without doing anything,
// where the operation stands; idle.go, config.go and rollback.go are what is done about
// each stage; report.go alone computes status, which is written with one patch and only
// when it changed.
//
// The operator acts on the node through lca-cli only, started as a transient unit. Besides
// that it writes the request files of an operation and stops the watchdog once the
// change is proved. It keeps nothing in memory that a restart must not lose: the
// journal, the request and status hold it all.
//
// controllers.go one level up constructs it. It imports the domain (internal/ipconfig), the ports
// (internal/host), internal/cluster and the API types; no adapter, no other
// controller.
package ipconfig
