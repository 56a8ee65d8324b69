package operation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// The record of a stateroot is kept twice, in its /var and in the /etc of its deployment: the loss of one folder leaves it.
const (
	StaterootFile = host.StateDir + "/stateroot.json"
	StaterootCopy = "/etc/lifecycle-agent/stateroot.json"
)

// staterootVersion is that of the record's format. A record of a newer version is not judged.
const staterootVersion = 1

// Stateroot is the record of one stateroot: which operation made it, and whether the node may still leave it again. Without
// a record nothing is known of it, and then no operation is under way there.
type Stateroot struct {
	Version int `json:"v"`
	// Revision counts the writes: of the two copies the later one counts.
	Revision int `json:"revision"`
	// Stateroot is the one that the record is of. In another one, into which it was copied, it says nothing.
	Stateroot string `json:"stateroot"`
	// MadeBy is the kind of operation that made it, Operation its id.
	MadeBy    string    `json:"made-by"`
	Operation string    `json:"operation-id"`
	Made      time.Time `json:"made"`
	// WayBack is the deployment that ran when it was made, and that a rollback boots. It is nil for a copy, and once the way
	// back was given up: the stateroot is then at rest.
	WayBack *Deployed `json:"way-back,omitempty"`
	// Confirmed is when the operation was proved; zero until then.
	Confirmed time.Time `json:"confirmed,omitzero"`
	// Ended is when the way back was given up; zero until then.
	Ended time.Time `json:"ended,omitzero"`
}

// Deployed names one deployment for good, whatever its place in the boot menu.
type Deployed struct {
	Stateroot string `json:"stateroot"`
	Checksum  string `json:"checksum"`
	Serial    int    `json:"serial"`
}

// NameOf names a deployment.
func NameOf(d host.Deployment) *Deployed { return &Deployed{d.Stateroot, d.Checksum, d.Serial} }

// In finds the deployment among those of the node.
func (d Deployed) In(all []host.Deployment) (host.Deployment, bool) {
	for _, have := range all {
		if *NameOf(have) == d {
			return have, true
		}
	}
	return host.Deployment{}, false
}

// ReadStateroot loads the record of the stateroot that the deployment is of. Where both copies are lost, damaged, or of
// another stateroot, found is false, and err says what could not be read.
func ReadStateroot(files host.Files, d host.Deployment) (s Stateroot, found bool, err error) {
	var errs []error
	for _, file := range staterootFiles(d) {
		have, err := readStateroot(files, file)
		switch {
		case err != nil:
			errs = append(errs, err)
		case have.Stateroot == d.Stateroot && have.Revision > s.Revision:
			s, found = have, true
		}
	}
	if found {
		return s, true, nil
	}
	return Stateroot{}, false, errors.Join(errs...)
}

// ReadStaterootOf loads the record of a stateroot that does not run, whether it is deployed or not.
func ReadStaterootOf(files host.Files, all []host.Deployment, name string) (s Stateroot, found bool, err error) {
	d, deployed := host.FirstOf(all, name)
	if !deployed {
		d = host.Deployment{Stateroot: name}
	}
	return ReadStateroot(files, d)
}

// LeadsTo says that the record's way back is in that stateroot.
func (s Stateroot) LeadsTo(stateroot string) bool {
	return s.WayBack != nil && s.WayBack.Stateroot == stateroot
}

// Heal writes the record again where one of its copies is lost, damaged or out of date.
func Heal(files host.Files, booted host.Deployment) error {
	s, found, err := ReadStateroot(files, booted)
	if !found {
		return err
	}
	for _, file := range staterootFiles(booted) {
		if have, err := readStateroot(files, file); err != nil || have.Revision != s.Revision || have.Stateroot != s.Stateroot {
			return WriteStateroot(files, booted, s)
		}
	}
	return nil
}

// readStateroot returns the zero record where the file is missing. Keys of later versions are passed over.
func readStateroot(files host.Files, file string) (s Stateroot, err error) {
	data, err := files.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("read %s: %w", file, err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return Stateroot{}, fmt.Errorf("decode %s: %w", file, err)
	}
	if s.Version != staterootVersion {
		return Stateroot{}, fmt.Errorf("%s has version %d, this program knows %d", file, s.Version, staterootVersion)
	}
	return s, nil
}

// WriteStateroot replaces the record of the deployment's stateroot. A write that is cut short leaves the former record or
// the new one.
func WriteStateroot(files host.Files, d host.Deployment, s Stateroot) error {
	before, _, err := ReadStateroot(files, d)
	if err != nil { // damaged copies are replaced
		before = Stateroot{}
	}
	s.Version, s.Stateroot, s.Revision = staterootVersion, d.Stateroot, max(before.Revision, s.Revision)+1
	for _, file := range staterootFiles(d) {
		if err := WriteJSON(files, file, s); err != nil {
			return fmt.Errorf("record what stateroot %s is: %w", d.Stateroot, err)
		}
	}
	return nil
}

// staterootFiles are where the running system has the files, or where another deployment has them.
func staterootFiles(d host.Deployment) []string {
	if d.Booted {
		return []string{StaterootFile, StaterootCopy}
	}
	return []string{host.InVar(d.Stateroot, StaterootFile), d.InDeployment(StaterootCopy)}
}

// Confirm records that the operation which made the running stateroot is proved. What is on record is kept; made replaces a
// record that is missing.
func Confirm(files host.Files, booted host.Deployment, made Stateroot, now time.Time) error {
	s, found, err := ReadStateroot(files, booted)
	if !found || s.Operation != made.Operation {
		s = made
	} else if !s.Confirmed.IsZero() {
		return err
	}
	s.Confirmed = now.UTC()
	return WriteStateroot(files, booted, s)
}

// End records that the running stateroot is at rest: its operation is over, and the way back is given up.
func End(files host.Files, booted host.Deployment, made Stateroot, now time.Time) error {
	s, found, err := ReadStateroot(files, booted)
	if !found {
		s = made
	} else if s.WayBack == nil {
		return err
	}
	s.WayBack, s.Ended = nil, now.UTC()
	return WriteStateroot(files, booted, s)
}
