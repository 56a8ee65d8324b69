package bringup

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// recertSummary is the part of recert's report that is counted. Only numbers leave it: the image's report holds every
// certificate of the cluster.
type recertSummary struct {
	Plan *struct {
		Certificates []struct{} `json:"certificates"`
		Leftovers    []struct{} `json:"leftovers"`
		Changes      []struct {
			Kind  string `json:"kind"`
			Where string `json:"where"`
		} `json:"changes"`
	} `json:"plan"`
}

// RecertNote begins the note that the recert step leaves in the journal.
const RecertNote = "recert by "

// recertNote sums up the report of recert's run in a sentence.
func recertNote(files host.Files, engine string) string {
	done := RecertNote + engine
	text, err := files.Read(host.RecertSummary)
	if err != nil {
		return done + ": done, without a report"
	}
	var s recertSummary
	if err := yaml.Unmarshal(text, &s); err != nil || s.Plan == nil {
		return done + ": done; report in " + host.RecertSummary
	}
	objects, onDisk, deleted := map[string]bool{}, map[string]bool{}, 0
	for _, c := range s.Plan.Changes {
		key, _, _ := strings.Cut(c.Where, " ")
		switch {
		case c.Kind == "delete":
			deleted++
		case c.Kind == "member", strings.HasPrefix(key, "/kubernetes.io/"), strings.HasPrefix(key, "/openshift.io/"):
			objects[key] = true
		default:
			onDisk[key] = true
		}
	}
	return fmt.Sprintf("%s: certificates re-issued %d, objects changed %d, files changed %d, "+
		"objects left for the cluster to create again %d, other mentions of the old address %d; report in %s",
		done, len(s.Plan.Certificates), len(objects), len(onDisk), deleted, len(s.Plan.Leftovers), host.RecertSummary)
}
