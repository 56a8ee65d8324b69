// Package lab puts a whole test node together: image, wires, machine and control plane, in a directory of its own.
//
// It is what "lab up" and the lab tests call. A lab is a name; everything it makes lies in <root>/<name> and in the network
// namespaces <name>-node and <name>-lan, and "down" removes it all. lab/image builds what the machine boots, lab/machine
// runs it, lab/network is the world around it, lab/cluster writes the control plane's state. It must not import the product.
package lab
