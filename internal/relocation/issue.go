package relocation

import (
	"fmt"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

const issueMode = 0o644

// KeepOnScreen has the node's console show a text beside the login, now and after each boot; an empty text ends that.
func KeepOnScreen(files host.Files, text string) error {
	if text == "" {
		if err := files.Remove(IssueFile); err != nil {
			return fmt.Errorf("take a text off the console: %w", err)
		}
	} else if err := files.Write(IssueFile, []byte(plainIssue(text)), issueMode); err != nil {
		return fmt.Errorf("keep a text on the console: %w", err)
	}
	if err := files.Write(IssueChanged, nil, issueMode); err != nil {
		return fmt.Errorf("have the console show another text: %w", err)
	}
	return nil
}

// plainIssue takes the meaning from what getty would replace in an issue file.
func plainIssue(text string) string { return strings.ReplaceAll(text, `\`, `\\`) }
