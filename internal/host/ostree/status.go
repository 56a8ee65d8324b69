package ostree

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// statusLine is a deployment in `ostree admin status`: "* STATEROOT CHECKSUM.SERIAL (tags)".
// It is read for one purpose: the index that set-default and undeploy take is ostree's own
// line number, and a wrong one would hit another deployment.
var statusLine = regexp.MustCompile(`(?m)^[* ] (\S+) ([0-9a-f]{64})\.(\d+)(?: .*)?$`)

func parseStatus(text string) []host.Deployment {
	var all []host.Deployment
	for i, m := range statusLine.FindAllStringSubmatch(text, -1) {
		serial, err := strconv.Atoi(m[3])
		if err != nil {
			continue
		}
		all = append(all, host.Deployment{Index: i, Stateroot: m[1], Checksum: m[2], Serial: serial})
	}
	return all
}

// byIndex runs a command that names a deployment by index, after making sure that ostree
// counts it the same way.
func (d *Deployments) byIndex(ctx context.Context, dep host.Deployment, command string) error {
	res, err := d.runAdmin(ctx, quick, "status")
	if err != nil {
		return err
	}
	for _, listed := range parseStatus(string(res.Stdout)) {
		if listed.Stateroot != dep.Stateroot || listed.ID() != dep.ID() {
			continue
		}
		if listed.Index != dep.Index {
			return fmt.Errorf("ostree counts deployment %s of %s as number %d, the boot loader as %d",
				dep.ID(), dep.Stateroot, listed.Index, dep.Index)
		}
		_, err := d.runAdmin(ctx, slow, command, strconv.Itoa(dep.Index))
		return err
	}
	return fmt.Errorf("ostree admin status does not list deployment %s of %s", dep.ID(), dep.Stateroot)
}
