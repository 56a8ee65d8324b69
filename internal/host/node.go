package host

// Node is every port of one node, as main builds them. It is for wiring: whatever acts takes from it the ports that it
// uses and names those.
type Node struct {
	Files       Files
	Trees       Trees
	Deployments Deployments
	OneTimeBoot OneTimeBoot
	Units       Units
	Masks       RuntimeMasks
	Foreign     ForeignUnits
	Transients  Transients
	Power       Power
	Logs        Logs
	Network     Network
	Planner     NetworkPlanner
	Switch      Switch
	Prober      Prober
	Resolver    Resolver
	Hostname    Hostname
	Containers  Containers
	Volumes     Volumes
	// Recert is the native engine, RecertImages the one in a container.
	Recert       Recert
	RecertImages RecertImages
}
