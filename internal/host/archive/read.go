package archive

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/pgzip"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// place receives the entries of an archive, which are checked before.
type place interface {
	makeFolder(e entry) error
	// makeHardLink makes another name of an entry that came before.
	makeHardLink(e entry) error
	makeSymlink(e entry) error
	makeSpecial(e entry) error
	// makeRegular makes a file of the content that fill writes, in order, without its runs of zeros.
	makeRegular(e entry, fill func(write writeAt) error) error
	// finishFolder gives a folder its attributes, after all that is in it.
	finishFolder(e entry) error
}

type writeAt func(b []byte, at int64) error

// reader reads one archive, which is foreign input.
type reader struct {
	ctx  context.Context
	tar  *tar.Reader
	into place
	sum  func(string, [32]byte)
	buf  []byte
	// content is how much the files may still hold.
	content int64
	seen    seen
	// folders are finished last, since what is made in them changes their times.
	folders []entry
}

// readInto brings the archive to its place.
func (a *Archives) readInto(ctx context.Context, from io.Reader, r host.ArchiveReading, into place) error {
	zip, err := pgzip.NewReaderN(from, block, 4)
	if err != nil {
		return fmt.Errorf("read the compressed archive: %w", err)
	}
	defer zip.Close()
	bytes := &bounded{ctx: ctx, from: zip, limit: r.Size.Bytes}
	u := &reader{ctx: ctx, into: into, tar: tar.NewReader(bytes), sum: r.Sum, buf: make([]byte, readSize), content: a.maxContent}
	if r.Size.Content > 0 {
		u.content = r.Size.Content
	}
	if err := u.readAll(); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, bytes); err != nil { // the checksum is at the end
		return fmt.Errorf("read the archive: %w", err)
	}
	if short := r.Size.Bytes - bytes.n; short > 0 {
		return fmt.Errorf("the archive is %d bytes shorter than the %d that are declared", short, r.Size.Bytes)
	}
	if r.Size.Content > 0 && u.content > 0 {
		return fmt.Errorf("the files of the archive are %d bytes shorter than the %d that are declared", u.content, r.Size.Content)
	}
	return nil
}

// bounded is the decompressed archive. It ends with its context, and where it is longer than its limit; 0 is none.
type bounded struct {
	ctx      context.Context
	from     io.Reader
	n, limit int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.limit > 0 {
		p = p[:min(int64(len(p)), b.limit-b.n+1)]
	}
	n, err := b.from.Read(p)
	if b.n += int64(n); b.limit > 0 && b.n > b.limit {
		return 0, fmt.Errorf("the archive is longer than the %d bytes that are declared", b.limit)
	}
	return n, err
}

func (u *reader) readAll() error {
	for {
		h, err := u.tar.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		e, err := u.seen.checkHeader(h)
		if err == nil {
			err = u.readEntry(e)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", h.Name, err)
		}
	}
	for n := len(u.folders) - 1; n >= 0; n-- {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		if err := u.into.finishFolder(u.folders[n]); err != nil {
			return fmt.Errorf("%q: %w", u.folders[n].name, err)
		}
	}
	return nil
}

func (u *reader) readEntry(e entry) error {
	switch e.kind {
	case tar.TypeDir:
		u.folders = append(u.folders, e)
		return u.into.makeFolder(e)
	case tar.TypeLink:
		return u.into.makeHardLink(e)
	case tar.TypeSymlink:
		return u.into.makeSymlink(e)
	case tar.TypeReg:
		return u.readRegular(e)
	}
	return u.into.makeSpecial(e)
}

func (u *reader) readRegular(e entry) error {
	if u.content -= e.size; u.content < 0 {
		return errors.New("with it the archive holds more than is declared")
	}
	sum := sha256.New()
	err := u.into.makeRegular(e, func(write writeAt) error {
		for at := int64(0); at < e.size; {
			if err := u.ctx.Err(); err != nil { // a hole is read without the archive
				return err
			}
			n, err := io.ReadFull(u.tar, u.buf[:min(int64(len(u.buf)), e.size-at)])
			if err != nil {
				return fmt.Errorf("read the archive: %w", err)
			}
			sum.Write(u.buf[:n])
			if err := write(u.buf[:n], at); err != nil {
				return err
			}
			at += int64(n)
		}
		return nil
	})
	if err == nil && u.sum != nil {
		u.sum(e.name, [32]byte(sum.Sum(nil)))
	}
	return err
}

// nowhere is the place of an archive that is read only.
type nowhere struct{}

func (nowhere) makeFolder(entry) error   { return nil }
func (nowhere) makeHardLink(entry) error { return nil }
func (nowhere) makeSymlink(entry) error  { return nil }
func (nowhere) makeSpecial(entry) error  { return nil }
func (nowhere) finishFolder(entry) error { return nil }

func (nowhere) makeRegular(_ entry, fill func(writeAt) error) error {
	return fill(func([]byte, int64) error { return nil })
}
