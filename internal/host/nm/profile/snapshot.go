// Package profile is NetworkManager's view of the node as data: profiles (connections), the devices they are active on,
// and the resolver configuration, with the readings that other parts of the adapter need. It does no I/O.
//
// Packages nm and nm/plan use it; it imports netstate and godbus's value types only.
package profile

import (
	"github.com/godbus/dbus/v5"
)

// Device states of NetworkManager that matter here.
const (
	DeviceUnmanaged   = 10
	DeviceUnavailable = 20
	deviceIPConfig    = 70
	DeviceActivated   = 100
)

// Device types of NetworkManager that matter here.
const (
	DeviceOVSInterface = 24
	deviceOVSPort      = 25
	deviceOVSBridge    = 26
)

// Layer tells apart the devices that may share a name: an Open vSwitch bridge, the port and the internal interface of the
// same name. Its text is stored in the journal.
type Layer string

// The layers. All that the kernel knows is a link.
const (
	LayerLink   Layer = ""
	LayerPort   Layer = "ovs-port"
	LayerBridge Layer = "ovs-bridge"
)

// LayerOf is the layer of a profile's device, by the profile's type.
func LayerOf(kind string) Layer {
	switch kind {
	case TypeOVSPort:
		return LayerPort
	case TypeOVSBridge:
		return LayerBridge
	}
	return LayerLink
}

// Device is a network interface as NetworkManager sees it.
type Device struct {
	Path   dbus.ObjectPath
	Name   string
	Kind   uint32
	State  uint32
	Active *Active // nil where no profile is active on it
}

// Active is a profile being active on a device.
type Active struct {
	Path    dbus.ObjectPath
	Profile dbus.ObjectPath
	UUID    string
}

// Profile is one of NetworkManager's profiles.
type Profile struct {
	Path     dbus.ObjectPath
	Settings Settings
	File     string
	// generated marks a profile that NetworkManager generated for a device configured by another program.
	Generated bool
	// Light marks a profile that was read from its file, for orientation: Settings holds a part, and Path is unknown.
	Light bool
}

// Snapshot is what NetworkManager knows at one moment.
type Snapshot struct {
	Devices  []Device
	Profiles []Profile
	Global   GlobalDNS

	devices  map[Layer]map[string]int // filled by the first search
	profiles map[string]int
}

// Device finds the device that carries addresses under the name: an OVS bridge and
// its port share the name of the internal interface.
func (s *Snapshot) Device(name string) (Device, bool) { return s.DeviceAt(LayerLink, name) }

// DeviceAt finds the device of that name in a layer.
func (s *Snapshot) DeviceAt(layer Layer, name string) (Device, bool) {
	if s.devices == nil {
		s.devices = map[Layer]map[string]int{LayerLink: make(map[string]int, len(s.Devices)), LayerPort: {}, LayerBridge: {}}
		for n, d := range s.Devices {
			in := s.devices[d.deviceLayer()]
			// NetworkManager may list the tap of an interface of Open vSwitch (user space datapath) beside the interface.
			if _, dup := in[d.Name]; !dup || d.Kind == DeviceOVSInterface {
				in[d.Name] = n
			}
		}
	}
	n, ok := s.devices[layer][name]
	if !ok {
		return Device{}, false
	}
	return s.Devices[n], true
}

// Serves says that a device is up by its profile, as far as the node can bring it: one that may wait for others (a network that has not
// answered) has everything else while it does.
func (d Device) Serves(mayWait bool) bool {
	return d.State == DeviceActivated || mayWait && d.State >= deviceIPConfig && d.State < DeviceActivated
}

func (d Device) deviceLayer() Layer {
	switch d.Kind {
	case deviceOVSPort:
		return LayerPort
	case deviceOVSBridge:
		return LayerBridge
	}
	return LayerLink
}

// ByUUID finds a profile by its identity.
func (s *Snapshot) ByUUID(uuid string) (Profile, bool) {
	if s.profiles == nil {
		s.profiles = make(map[string]int, len(s.Profiles))
		for n, p := range s.Profiles {
			s.profiles[p.Settings.UUID()] = n
		}
	}
	n, ok := s.profiles[uuid]
	if !ok {
		return Profile{}, false
	}
	return s.Profiles[n], true
}

// ActiveOn is the profile active on the device of that name, generated ones left out.
func (s *Snapshot) ActiveOn(name string) (Profile, bool) {
	d, ok := s.Device(name)
	if !ok || d.Active == nil {
		return Profile{}, false
	}
	p, ok := s.ByUUID(d.Active.UUID)
	return p, ok && !p.Generated
}
