package flow

import "time"

// SchemaVersion of the journal. A reader that meets a newer one does not guess: it rolls back.
const SchemaVersion = 1

// Kind says what an entry records. The words are a stored format.
type Kind string

// The kinds of entries, in the order in which a plan writes them.
const (
	KindBegin      Kind = "begin"       // a run of the plan starts
	KindIntent     Kind = "intent"      // Do is about to be called
	KindDone       Kind = "done"        // the step's effect is on disk
	KindSkipped    Kind = "skipped"     // the effect was already there
	KindFailed     Kind = "failed"      // every try of Do failed
	KindCommitted  Kind = "committed"   // the commit point was passed
	KindFinished   Kind = "finished"    // all steps are done
	KindUndo       Kind = "undo"        // Undo is about to be called
	KindUndone     Kind = "undone"      // Undo succeeded
	KindUndoFailed Kind = "undo-failed" // Undo failed; the next run tries again
	KindRolledBack Kind = "rolled-back" // everything begun was rolled back
	KindNote       Kind = "note"        // a fact for the reader; changes nothing
)

// Entry is one line of a journal. It never holds a secret.
type Entry struct {
	Version   int       `json:"v"`
	Seq       int       `json:"seq"`
	Time      time.Time `json:"time"`
	Boot      string    `json:"boot,omitempty"`
	Stateroot string    `json:"stateroot,omitempty"`
	Operation string    `json:"op"`
	Flow      string    `json:"flow"`
	Kind      Kind      `json:"kind"`
	Step      string    `json:"step,omitempty"`
	Title     string    `json:"title,omitempty"`
	// Index and Total are the step's "n of m".
	Index   int    `json:"n,omitempty"`
	Total   int    `json:"of,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Message string `json:"message,omitempty"`
	Error   string `json:"error,omitempty"`
	TookMS  int64  `json:"tookMs,omitempty"`
	// Deadline, on a note, is when the operation is given up.
	Deadline *time.Time `json:"deadline,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Evidence is a command that ran during a step. The runner of the command has redacted arguments and output.
type Evidence struct {
	Argv     []string `json:"argv"`
	ExitCode int      `json:"exitCode"`
	Tail     string   `json:"tail,omitempty"`
	TookMS   int64    `json:"tookMs"`
}
