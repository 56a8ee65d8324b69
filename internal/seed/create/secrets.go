package create

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/secretscan"
)

// What a sweep keeps beside the copy, for a run that is interrupted: what the seed itself has of what recert renews, and what was found
// so far. Neither has a value.
func (g *generation) seenFile() string  { return path.Join(g.copyDir(), "seen.json") }
func (g *generation) foundFile() string { return path.Join(g.copyDir(), "found.json") }

// noteSeen notes, before recert runs, which keys and tokens are the seed's own. It is done once: afterwards the copy has others.
func (g *generation) noteSeen(ctx context.Context) error {
	if _, err := g.Files.Stat(g.seenFile()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	scan := secretscan.New(nil, secretscan.NewSeen(rand.Text()))
	err := g.withStore(ctx, func(store host.OpenKeystore) error {
		return store.Range(ctx, "/", func(kv host.KeyValue) error {
			scan.NoteObject(kv)
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("note the keys of the seed: %w", err)
	}
	files := g.Copies.Files(g.systemDir())
	for _, dir := range secretscan.RenewedDirs() {
		err := walkFiles(files, dir, nil, func(file string, info fs.FileInfo) error {
			if info.Size() > secretscan.EditLimit {
				return nil
			}
			data, err := files.Read(file)
			scan.NoteFile(data)
			return err
		})
		if err != nil {
			return fmt.Errorf("note the keys of the seed: %w", err)
		}
	}
	return operation.WriteJSON(g.Files, g.seenFile(), scan.Seen)
}

func (g *generation) withStore(ctx context.Context, do func(host.OpenKeystore) error) error {
	store, err := g.Copies.Keystore(g.systemDir()).Open(ctx)
	if err != nil {
		return fmt.Errorf("open the copy's etcd: %w", err)
	}
	err = do(store)
	if cerr := store.Close(ctx); err == nil && cerr != nil {
		err = fmt.Errorf("close the copy's etcd: %w", cerr)
	}
	return err
}

// sweep removes from the copy what a search finds after all that is removed by its place. What it found is stored before anything is
// removed, so that the report of a run that continues has it, too.
type sweep struct {
	*generation
	scan *secretscan.Scan
}

func (g *generation) newSweep() (*sweep, error) {
	seen := &secretscan.Seen{}
	if err := operation.ReadJSON(g.Files, g.seenFile(), seen); err != nil {
		return nil, err
	}
	s := &sweep{g, secretscan.New(g.request.Rulings, seen)}
	return s, nil
}

// saveFound adds what was found to what an interrupted run found.
func (s *sweep) saveFound() error {
	var before []secretscan.Found
	if err := operation.ReadJSON(s.Files, s.foundFile(), &before); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range before {
		if f.Decision == secretscan.Removed { // all others are found again
			s.scan.Report.Found = append(s.scan.Report.Found, f)
		}
	}
	s.scan.Report.Finish()
	return operation.WriteJSON(s.Files, s.foundFile(), s.scan.Report.Found)
}

// sweepStore examines every value of the copy's etcd.
func (s *sweep) sweepStore(ctx context.Context) error {
	err := s.withStore(ctx, func(store host.OpenKeystore) error {
		edits, err := s.editsOf(ctx, store)
		if err != nil {
			return err
		}
		if err := s.saveFound(); err != nil || len(edits) == 0 {
			return err
		}
		if err := store.Commit(ctx, edits); err != nil {
			return fmt.Errorf("write the store of the copy: %w", err)
		}
		return store.Defragment(ctx)
	})
	if err != nil {
		return fmt.Errorf("remove secrets from the copy's etcd: %w", err)
	}
	return nil
}

func (s *sweep) editsOf(ctx context.Context, store host.OpenKeystore) (edits []host.Edit, err error) {
	return edits, store.Range(ctx, "/", func(kv host.KeyValue) error {
		value, changed, deleted := s.scan.Object(kv)
		switch {
		case deleted:
			edits = append(edits, host.Edit{Key: kv.Key, Delete: true, ModRevision: kv.ModRevision})
		case changed:
			edits = append(edits, host.Edit{Key: kv.Key, Value: value, ModRevision: kv.ModRevision})
		}
		return nil
	})
}

// writeReport stores the report in the image and for the agent, and refuses what needs a decision.
func (s *sweep) writeReport() error {
	r := &s.scan.Report
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode %s: %w", image.Secrets, err)
	}
	if err := s.Files.Write(path.Join(s.contentsDir(), image.Secrets), text, 0o600); err != nil {
		return fmt.Errorf("store %s: %w", image.Secrets, err)
	}
	full := seed.SecretReport{OperationID: s.request.OperationID, Report: *r}
	if err := operation.WriteJSON(s.Files, seed.SecretsFile, full); err != nil {
		return err
	}
	s.Log.Info("searched the copy for secrets", "objects", r.Objects, "files", r.Files, "found", r.Counts)
	if why := r.Refusal(); why != "" {
		return operation.Refuse("the image is not published: %s; all are in %s", why, seed.SecretsFile)
	}
	return nil
}
