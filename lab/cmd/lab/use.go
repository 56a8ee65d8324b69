package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

func statusCommand(o *options) *cobra.Command {
	output := "text"
	cmd := &cobra.Command{
		Use: "status", Short: "Show the node: power, boot, stateroot, addresses, deployments", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return fmt.Errorf("unknown output %q, want text or json", output)
			}
			l, err := o.open()
			if err != nil {
				return err
			}
			status, err := l.Status(cmd.Context())
			if err != nil {
				return err
			}
			if output == "json" {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(status)
			}
			printStatus(cmd.OutOrStdout(), status)
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", output, "text or json")
	return cmd
}

func printStatus(w io.Writer, s lab.Status) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-12s %s\n", name, value)
		}
	}
	power := map[bool]string{true: "on", false: "off"}[s.State.On]
	row("lab", fmt.Sprintf("%s (%s)", s.Name, s.Machine))
	row("power", strings.TrimSpace(power+"  "+s.System))
	row("boot", s.State.BootID)
	row("stateroot", s.State.Stateroot)
	row("node IP", s.PrimaryIP)
	row("addresses", strings.Join(s.Addresses, ", "))
	row("deployments", strings.Join(s.Deployments, "\n"+strings.Repeat(" ", 13)))
	row("console", s.Console)
}

func execCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "exec -- PROGRAM [ARGUMENT...]", Short: "Run a program in the node as root; its exit code is ours",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, argv []string) error {
			l, err := o.open()
			if err != nil {
				return err
			}
			if container, ok := l.Machine.(machine.Container); ok { // the streams connected, not copied at the end
				return connected(container, cmd, argv)
			}
			command := machine.Command{Argv: argv}
			if !terminal(os.Stdin) {
				command.Stdin = os.Stdin
			}
			result, err := l.Machine.Exec(cmd.Context(), command)
			fmt.Fprint(cmd.OutOrStdout(), result.Stdout)
			fmt.Fprint(cmd.ErrOrStderr(), result.Stderr)
			if err == nil && result.ExitCode != 0 {
				err = exitError{result.ExitCode}
			}
			return err
		},
	}
}

func shellCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "shell", Short: "Open a root shell in the node", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := o.open()
			if err != nil {
				return err
			}
			switch m := l.Machine.(type) {
			case machine.Container:
				return connected(m, cmd, []string{"bash", "-l"})
			case machine.Emulated:
				return serialConsole(cmd.Context(), m.ConsoleSocket())
			}
			return fmt.Errorf("no shell on a machine of kind %s", l.Kind)
		},
	}
}

// connected runs a program in the container on our own streams.
func connected(container machine.Container, cmd *cobra.Command, argv []string) error {
	inside, err := container.Enter(cmd.Context(), argv...)
	if err != nil {
		return err
	}
	inside.Stdin, inside.Stdout, inside.Stderr = os.Stdin, cmd.OutOrStdout(), cmd.ErrOrStderr()
	err = inside.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 0 {
		return exitError{exit.ExitCode()}
	}
	return err
}

func logsCommand(o *options) *cobra.Command {
	follow := false
	cmd := &cobra.Command{
		Use: "logs", Short: "Show the machine's console, over all boots", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := o.open()
			if err != nil {
				return err
			}
			args := []string{"-n", "+1"}
			if follow {
				args = append(args, "-F")
			}
			tail := exec.CommandContext(cmd.Context(), "tail", append(args, l.Machine.ConsoleLog())...)
			tail.Stdout, tail.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return tail.Run()
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on as it grows")
	return cmd
}
