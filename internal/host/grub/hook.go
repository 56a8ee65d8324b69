package grub

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

const (
	hookBegin = "### BEGIN lifecycle-agent: start one entry once ###\n"
	hookEnd   = "### END lifecycle-agent ###\n"
	// hook clears the choice before it follows it, and does not follow one that it could not clear.
	hook = hookBegin + `if [ -s $prefix/` + blockName + ` ]; then
  load_env -f $prefix/` + blockName + ` ` + variable + `
  if [ -n "${` + variable + `}" ]; then
    set lca_entry="${` + variable + `}"
    set ` + variable + `=
    if save_env -f $prefix/` + blockName + ` ` + variable + `; then
      set default="${lca_entry}"
    fi
  fi
fi
` + hookEnd
)

// config is GRUB's configuration on the node: its folder, and the file for local additions that it reads.
type config struct{ dir, local string }

func (c config) hookFile() string  { return path.Join(c.dir, c.local) }
func (c config) blockFile() string { return path.Join(c.dir, blockName) }

// localFiles are the files for additions, the one that is read last first.
var localFiles = []string{"custom.cfg", "user.cfg"}

// findConfig finds GRUB's configuration, and says what it lacks.
func (g *GRUB) findConfig() (config, error) {
	for _, dir := range []string{"/boot/grub2", "/boot/grub"} {
		file := path.Join(dir, "grub.cfg")
		data, err := g.files.Read(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return config{}, fmt.Errorf("read GRUB's configuration: %w", err)
		}
		return parseConfig(dir, string(data))
	}
	return config{}, errors.New("its boot loader is not GRUB: there is no /boot/grub2/grub.cfg")
}

func parseConfig(dir, text string) (config, error) {
	file, c, menu := path.Join(dir, "grub.cfg"), config{dir: dir}, false
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "blscfg":
			menu = true
		case (words[0] == "source" || words[0] == ".") && len(words) == 2 && c.local != localFiles[0]:
			for _, name := range localFiles {
				if path.Base(strings.Trim(words[1], `"`)) == name {
					c.local = name
				}
			}
		}
	}
	switch {
	case !menu:
		return config{}, fmt.Errorf("%s does not make its menu of the entries in /boot/loader/entries (blscfg)", file)
	case c.local == "":
		return config{}, fmt.Errorf("%s reads neither custom.cfg nor user.cfg", file)
	}
	return c, nil
}

// withoutHook is the text of a file for local additions as others wrote it.
func withoutHook(text string) string {
	before, rest, found := strings.Cut(text, hookBegin)
	if !found {
		return text
	}
	_, after, ended := strings.Cut(rest, hookEnd)
	if !ended {
		return before
	}
	return before + after
}

// readLocal reads the file for local additions; empty where there is none.
func (g *GRUB) readLocal(c config) (string, error) {
	data, err := g.files.Read(c.hookFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read GRUB's additions: %w", err)
	}
	return string(data), nil
}

// removeHook leaves the file for local additions as others wrote it; one that they did not write is removed.
func (g *GRUB) removeHook(c config) error {
	text, err := g.readLocal(c)
	if err != nil {
		return err
	}
	switch others := withoutHook(text); others {
	case text:
		return nil
	case "":
		err = g.files.Remove(c.hookFile())
	default:
		err = g.files.Write(c.hookFile(), []byte(others), 0o600)
	}
	if err != nil {
		return fmt.Errorf("remove the lines of %s: %w", c.hookFile(), err)
	}
	return nil
}
