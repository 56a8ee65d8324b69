package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/relocation"
)

// siteFileVerbs are the verbs of "relocation" that need no node.
func siteFileVerbs() []*cobra.Command {
	return []*cobra.Command{
		relocation.MachineConfigCommand(relocation.FilesWiring{Out: os.Stdout}), newMovedCommand("config"), newMovedCommand("sites"),
	}
}
