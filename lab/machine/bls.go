package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Entry is one boot loader entry, of the Boot Loader Specification's type 1 (key, blank, value lines), as ostree writes it.
type Entry struct {
	File    string // its name, such as ostree-2.conf
	Title   string
	Version int    // ostree numbers its entries so that the default one has the highest
	Linux   string // path of the kernel on the boot file system
	Options string // the kernel command line
}

// ParseEntry reads one entry. The last of a repeated key wins, but options add up (specification, "options" may repeat).
func ParseEntry(file, text string) (Entry, error) {
	entry := Entry{File: file}
	var options []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value := splitKey(line)
		value = strings.TrimSpace(value)
		switch key {
		case "title":
			entry.Title = value
		case "linux":
			entry.Linux = value
		case "options":
			options = append(options, value)
		case "version":
			version, err := strconv.Atoi(value)
			if err != nil {
				return Entry{}, fmt.Errorf("boot entry %s: version %q is not a number", file, value)
			}
			entry.Version = version
		}
	}
	entry.Options = strings.Join(options, " ")
	if entry.Linux == "" {
		return Entry{}, fmt.Errorf("boot entry %s names no kernel", file)
	}
	return entry, nil
}

// ReadEntries reads the entries of a boot directory. No entry at all is an error: such a machine does not boot.
func ReadEntries(boot string) ([]Entry, error) {
	paths, err := filepath.Glob(filepath.Join(boot, "loader/entries/*.conf"))
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read boot entry: %w", err)
		}
		entry, err := ParseEntry(filepath.Base(path), string(text))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("no boot entry in %s", boot)
	}
	return entries, nil
}

// Default picks what a boot loader boots when nobody touches a key: the highest version, as ostree's own menus do.
func Default(entries []Entry) (Entry, error) {
	if len(entries) == 0 {
		return Entry{}, errors.New("no boot entry")
	}
	best := entries[0]
	for _, entry := range entries[1:] {
		if entry.Version > best.Version {
			best = entry
		}
	}
	return best, nil
}

// ostreePath is the value of the ostree= argument: /ostree/boot.N/STATEROOT/BOOTCSUM/SERIAL, a link to a deployment.
func ostreePath(cmdline string) string {
	for _, word := range strings.Fields(cmdline) {
		if value, ok := strings.CutPrefix(word, "ostree="); ok {
			return value
		}
	}
	return ""
}

// Stateroot is the stateroot that a kernel command line boots, empty when it is not one of an ostree system.
func Stateroot(cmdline string) string {
	parts := strings.Split(ostreePath(cmdline), "/")
	if len(parts) != 6 {
		return ""
	}
	return parts[3]
}

// splitKey parts a line at its first blank or tab.
func splitKey(line string) (key, value string) {
	at := strings.IndexAny(line, " \t")
	if at < 0 {
		return line, ""
	}
	return line[:at], line[at:]
}
