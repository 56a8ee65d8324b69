package grub

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

const (
	// blockName is the environment block of the product's own: GRUB's grubenv has other users.
	blockName = "lca-once.env"
	variable  = "lca_once"
	blockSize = 1024
	blockHead = "# GRUB Environment Block\n"
)

// encodeBlock makes an environment block. Its one variable is in the first sector, which disks write whole: a power cut leaves the
// former or the new choice.
func encodeBlock(entry string) []byte {
	text := blockHead + variable + "=" + entry + "\n"
	return append([]byte(text), bytes.Repeat([]byte{'#'}, blockSize-len(text))...)
}

// decodeBlock is the entry that a block names; empty for none.
func decodeBlock(data []byte) string {
	for line := range strings.Lines(string(data)) {
		if entry, ok := strings.CutPrefix(line, variable+"="); ok {
			return strings.TrimSpace(entry)
		}
	}
	return ""
}

// createBlock makes sure that there is a block of the right size, and that it names nothing.
func (g *GRUB) createBlock(c config) error {
	data, err := g.files.Read(c.blockFile())
	if err == nil && len(data) == blockSize {
		return g.writeBlock(c, "")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return g.files.Write(c.blockFile(), encodeBlock(""), 0o600)
}

// writeBlock changes the block where it lies, as GRUB itself does: a new file would count for GRUB, which replays no journal,
// at some later time only.
func (g *GRUB) writeBlock(c config, entry string) (err error) {
	if len(entry) > 200 {
		return fmt.Errorf("the name of entry %q is too long", entry)
	}
	f, err := g.files.Open(c.blockFile(), os.O_WRONLY)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteAt(encodeBlock(entry), 0); err != nil {
		return err
	}
	return f.Sync()
}
