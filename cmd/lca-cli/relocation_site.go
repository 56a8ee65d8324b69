package main

import (
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/relocation"
)

// siteFileVerbs are the verbs of "relocation" that need no node.
func siteFileVerbs() []*cobra.Command {
	return []*cobra.Command{
		relocation.ConfigCommand(relocation.FilesWiring{In: os.Stdin, Out: os.Stdout}),
		relocation.MachineConfigCommand(relocation.FilesWiring{In: os.Stdin, Out: os.Stdout}),
		relocation.SitesCommand(relocation.SitesWiring{Out: os.Stdout, Now: time.Now, Rand: rand.NewPCG(rand.Uint64(), rand.Uint64())}),
	}
}
