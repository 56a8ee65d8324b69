package recert

import (
	"context"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// apply carries the plan out. The order makes every interruption harmless: files and objects can be written again
// with the same result, and what the next run needs to know the old address, the Node, goes last.
func (p *Plan) apply(ctx context.Context, files host.Files, store host.OpenKeystore) error {
	if err := store.Commit(ctx, p.first); err != nil {
		return err
	}
	for _, f := range p.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := files.Write(f.path, f.data, f.mode); err != nil {
			return fmt.Errorf("write %s: %w", f.path, err)
		}
	}
	for _, old := range p.stale {
		if err := files.Remove(old); err != nil {
			return fmt.Errorf("remove %s, which is called otherwise now: %w", old, err)
		}
	}
	if err := store.Commit(ctx, p.edits); err != nil {
		return err
	}
	for _, m := range p.members {
		if err := store.UpdateMember(ctx, m.ID, m.PeerURLs); err != nil {
			return err
		}
	}
	if err := store.Commit(ctx, append(p.last, p.nodes...)); err != nil {
		return err
	}
	if p.defrag {
		return store.Defragment(ctx)
	}
	return nil
}
