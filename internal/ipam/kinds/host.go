package kinds

import "strings"

// installerPrefix is what the installer of a bare-metal cluster puts before the name of a node to name its BareMetalHost.
const installerPrefix = "openshift-"

// PlainHost is the name of a host without what the installer puts before it: openshift-master-0 is master-0.
func PlainHost(name string) string { return strings.TrimPrefix(name, installerPrefix) }

// InterfaceLabel is the name or MAC address of an interface as the value of a label.
func InterfaceLabel(name string) string { return strings.ReplaceAll(name, ":", "-") }
