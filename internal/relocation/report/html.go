package report

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
)

// HTML writes the report as a page to print, which loads nothing.
func (r Report) HTML(w io.Writer) error {
	if err := printed(r).Render(context.Background(), w); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// nodeText names the node and its addresses.
func nodeText(f relocation.Facts) string {
	texts := []string{f.Node}
	for _, a := range f.Addresses {
		texts = append(texts, a.String())
	}
	return strings.Join(texts, ", ")
}
