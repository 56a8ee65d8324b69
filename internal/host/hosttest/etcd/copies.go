package etcd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/files"
)

// Copies is the node's host.SystemCopies.
func (n *Member) Copies() host.SystemCopies { return copies{n} }

type copies struct{ n *Member }

func (c copies) Files(root string) host.Files { return files.Below(files.Of(c.n.Machine), root) }

// Open implements host.SystemCopies.
func (c copies) Open(root, p string) (io.ReadCloser, error) {
	data, err := c.Files(root).Read(p)
	return io.NopCloser(bytes.NewReader(data)), err
}

func (c copies) Keystore(root string) host.Keystore { return keystore{c.n, root} }

func (c copies) Recert(root string) host.Recert { return copiedRecert{c.n, root} }

// Purge has nothing to do: this store has no log.
func (c copies) Purge(_ context.Context, root string) error {
	c.n.Enter()
	defer c.n.Unlock()
	return c.n.Change("copies.purge", root)
}

// copiedRecert expires the cluster of a copy: every key gets the kind "Expired" beside its own, one at a time.
type copiedRecert struct {
	n    *Member
	root string
}

func (r copiedRecert) Run(ctx context.Context, configPath string) error {
	if _, err := files.Of(r.n.Machine).Read(path.Join(r.root, configPath)); err != nil {
		return fmt.Errorf("recert: %w", err)
	}
	s, err := keystore(r).Open(ctx)
	if err != nil {
		return fmt.Errorf("recert: %w", err)
	}
	err = s.Range(ctx, "", func(kv host.KeyValue) error {
		var have resource
		if json.Unmarshal(kv.Value, &have) != nil || strings.HasPrefix(have.Kind, "Expired ") {
			return nil
		}
		have.Kind = "Expired " + have.Kind
		return s.Commit(ctx, []host.Edit{{Key: kv.Key, Value: encode(have), ModRevision: kv.ModRevision}})
	})
	return errors.Join(err, s.Close(ctx))
}
