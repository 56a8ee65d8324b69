package run

import (
	"context"
	"time"
)

// Command is one program to execute.
type Command struct {
	// Argv is the program and its arguments; there is never a shell in between.
	Argv []string
	// Stdin is fed to the program; nil is /dev/null.
	Stdin []byte
	// Env are KEY=VALUE pairs on top of the runner's own environment.
	Env []string
	// Dir is the working directory, as the program sees it.
	Dir string
	// Timeout ends the program's process group; 0 leaves it to the context.
	Timeout time.Duration
	// Secrets are values blotted out wherever argv or output are recorded or reported.
	Secrets []string
	// SecretOutput keeps the output out of evidence and errors altogether.
	SecretOutput bool
}

// Result is what a program that succeeded wrote.
type Result struct {
	Stdout, Stderr []byte
	Took           time.Duration
}

// Runner executes commands.
type Runner interface {
	// Run returns when the program ended. A program that could not start, was ended or
	// exited other than with 0 is an *Error; the Result then still
	// holds what it wrote.
	Run(ctx context.Context, c Command) (Result, error)
}

// Evidence is what the journal keeps of a command, secrets blotted out.
type Evidence struct {
	Argv     []string      `json:"argv"`
	ExitCode int           `json:"exitCode"`
	Output   string        `json:"output,omitempty"`
	Started  time.Time     `json:"started"`
	Took     time.Duration `json:"took"`
}

// Observer takes the evidence of one command. It is called once per command, after
// it ended, from the goroutine that ran it.
type Observer func(Evidence)
