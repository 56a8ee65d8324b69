package trees

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/crashtest"
)

func mirrorOnce(root string, r host.CopyRequest) error {
	r.From, r.To = "/from", "/to"
	_, err := New(Options{Root: root, Workers: 1}).Mirror(context.Background(), r)
	return err
}

func fillFiles(root string, files map[string]string) error {
	for name, data := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(data), 0o640)); err != nil {
			return err
		}
	}
	return nil
}

// The next pass trusts sizes and times in a target that carries no mark. So a target without one has to be
// whole: as it was before the pass, or equal to the source.
func TestPowerCutDuringMirror(t *testing.T) {
	first := map[string]string{"from/a": "one", "from/sub/b": "two", "from/sub/c": "three"}
	for name, before := range map[string]func(root string) error{
		"first pass": func(root string) error { return fillFiles(root, first) },
		"second pass": func(root string) error {
			if err := errors.Join(fillFiles(root, first), mirrorOnce(root, host.CopyRequest{Live: true})); err != nil {
				return err
			}
			later := map[string]string{"from/a": "one, changed", "from/new/d": "four"}
			return errors.Join(fillFiles(root, later), os.Remove(filepath.Join(root, "from/sub/c")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var was map[string]string
			tr := crashtest.Record(t, before, func(root string) error { return mirrorOnce(root, host.CopyRequest{}) })
			tr.Check(t, func(s crashtest.State, finished bool) error {
				to, marked := s.Below("/to"), s.Attr("/to", markAttr) != ""
				if was == nil {
					was = to // nothing has happened in the first state
				}
				whole := maps.Equal(to, s.Below("/from"))
				if (whole || !finished && (marked || maps.Equal(to, was))) && (!marked || !finished) {
					return nil
				}
				return fmt.Errorf("the target, mark %t, holds %q", marked, to)
			})
		})
	}
}

func TestPowerCutAfterSync(t *testing.T) {
	tr := crashtest.Record(t, func(root string) error { return os.Mkdir(filepath.Join(root, "to"), 0o700) },
		func(root string) error {
			return errors.Join(fillFiles(root, map[string]string{"to/sub/file": "data"}), New(Options{Root: root}).Sync("/to"))
		})
	tr.Check(t, func(s crashtest.State, finished bool) error {
		if finished && s.Data("/to/sub/file") != "data" {
			return fmt.Errorf("the file holds %q after Sync", s.Data("/to/sub/file"))
		}
		return nil
	})
}
