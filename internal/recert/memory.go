package recert

import "runtime/debug"

// What LimitMemory sets. The limit leaves a quarter to what a process needs besides.
const (
	garbagePercent = 400
	memoryLimit    = 192 << 20
)

// LimitMemory tells the collector of a process that was started to run an Engine how it should work: rarely, since a whole cluster
// passes through in less than a second and nearly all of it is garbage, and in time where a cluster is large. The result puts
// everything back.
func LimitMemory() (restore func()) {
	percent, limit := debug.SetGCPercent(garbagePercent), debug.SetMemoryLimit(memoryLimit)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}
