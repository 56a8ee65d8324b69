// Package sitecode is the list of short codes that a technician on site reads out on the phone: each names what
// failed, what it means in plain words, and what to do. The flows of internal/relocation choose the code, the portal
// and the console show it, and docs/operate/on-site.md prints the list. It imports the standard library only.
//
// A code is a contract with printed pages: never change the meaning of one; add another.
package sitecode

import (
	"fmt"
	"io"
	"strings"
)

// Code is a letter for what it is about and two digits. The letters that are easily confused on a phone are not used.
type Code string

// The codes.
const (
	ConfigUnreadable Code = "C11"
	ConfigWrong      Code = "C12"
	ConfigTwice      Code = "C13"
	ConfigLost       Code = "C14"
	ConfigUnfit      Code = "C15"

	NoCable         Code = "L21"
	NetworkRefused  Code = "L22"
	GatewaySilent   Code = "L23"
	DNSSilent       Code = "L24"
	RegistrySilent  Code = "L25"
	TimeServer      Code = "L26"
	AddressTaken    Code = "L27"
	IdentityFailed  Code = "K31"
	ClusterSilent   Code = "K32"
	DomainFailed    Code = "K33"
	SettingsFailed  Code = "K34"
	ClusterUnwell   Code = "K35"
	HubFailed       Code = "H41"
	ObjectsFailed   Code = "H42"
	WentBack        Code = "W51"
	TooManyAttempts Code = "W52"
	DiskFull        Code = "W53"
	Unknown         Code = "W99"
)

// Entry explains one code to a technician.
type Entry struct {
	Code    Code
	Meaning string
	Action  string
}

// All lists the codes in the order of the printed page.
func All() []Entry {
	return []Entry{
		{ConfigUnreadable, "The node cannot read the configuration file.",
			"Plug the stick in again. If the code comes back, ask for a new stick."},
		{ConfigWrong, "The configuration file has mistakes. The page lists them.", "Read the list out. Ask for a corrected file."},
		{ConfigTwice, "Two sticks with a configuration are plugged in.", "Remove the one that is not for this site."},
		{ConfigLost, "The stick was removed while the node read it.",
			"Plug the stick in and leave it there until the node says that it is read."},
		{ConfigUnfit, "The configuration does not fit this node.",
			"Check that node and stick have the same site name. Read the message out."},
		{NoCable, "The network cable has no signal.", "Push both ends of the cable in until they click. Try the other network port."},
		{NetworkRefused, "The node cannot set up the network as described.", "Read the message out. Ask for a corrected file."},
		{GatewaySilent, "The site's router does not answer.",
			"Check that the cable goes to the right port of the switch. Ask whether the VLAN is right."},
		{DNSSilent, "The site's name server does not answer.",
			"Ask whether the name server's address is right and reachable from this site."},
		{RegistrySilent, "The image registry does not answer.", "Ask whether the registry is reachable from this site."},
		{TimeServer, "The node's clock cannot be set.", "Ask whether the time server is reachable from this site."},
		{AddressTaken, "Another device already uses the node's address.",
			"Ask which device it is. Do not try again before it is removed."},
		{IdentityFailed, "The node cannot take its new name.", "Try again once. If the code comes back, read it out."},
		{ClusterSilent, "The cluster does not start.", "Wait ten minutes, then try again once. If the code comes back, read it out."},
		{DomainFailed, "The cluster cannot take its new web addresses.", "Try again once. If the code comes back, read it out."},
		{SettingsFailed, "A setting of the site cannot be stored.", "Read the message out."},
		{ClusterUnwell, "The cluster runs, but not all of it is healthy.",
			"Wait ten minutes. If the page is not green then, read the message out."},
		{HubFailed, "The cluster runs, but cannot register with the head office.", "Leave the node running. Read the code out."},
		{ObjectsFailed, "The cluster runs, but does not have all that the site's configuration adds to it.",
			"Leave the node running. Read the code and the message out."},
		{WentBack, "The change failed and the node is back in its factory state.",
			"Read out the message below the code. You can try again."},
		{TooManyAttempts, "The node tried several times and stopped.", "Do not try again. Read the code out."},
		{DiskFull, "The node's disk is full.", "Do not try again. Read the code out."},
		{Unknown, "Something failed that has no code of its own.", "Read out the message below the code."},
	}
}

// Lookup explains a code; one that is not listed counts as Unknown.
func Lookup(c Code) Entry {
	var last Entry
	for _, e := range All() {
		if e.Code == c {
			return e
		}
		last = e
	}
	return last
}

// WriteTable writes the list as a table of a Markdown page.
func WriteTable(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| code | what it means | what to do |\n| --- | --- | --- |\n")
	for _, e := range All() {
		fmt.Fprintf(&b, "| **%s** | %s | %s |\n", e.Code, e.Meaning, e.Action)
	}
	_, err := io.WriteString(w, b.String())
	if err != nil {
		return fmt.Errorf("write the table of codes: %w", err)
	}
	return nil
}
