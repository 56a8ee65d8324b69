// Package config reads recert_config.json, what a run is asked for, and recert-progress.json beside it, the record of how far an
// earlier run came. Both are stored formats; the first is that of the field's tool (github.com/rh-ecosystem-edge/recert).
//
// It is below certs, rules and inspect because all of them act on a configuration. It imports recert/replace and recert/wire only.
package config
