package delivery

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// Names are those under which a configuration is looked for, in a volume's root or its folder cluster-configuration,
// in any case of letters. The last ones are those of older tools.
func Names() []string {
	return []string{"site-config.yaml", "site-config.yml", "site-config.json", "siteconfig.yaml", "siteconfig.yml",
		"cluster-relocation.yaml", "cluster-relocation.yml", "manifest.json"}
}

// Folders beside the configuration, as image-based installation lays them out.
const (
	clusterFolder     = "cluster-configuration"
	manifestsFolder   = clusterFolder + "/manifests"
	extraFolder       = "extra-manifests"
	connectionsFolder = "network-configuration/system-connections"
)

// Bounds on the files beside the configuration.
const (
	maxFiles = 256
	maxTotal = 16 << 20 // bytes
)

// ErrNoFile says that a place holds no configuration.
var ErrNoFile = errors.New("no configuration file")

// File is a configuration as it was found.
type File struct {
	// Name is its path in the place where it was found.
	Name string
	// Data is its text.
	Data []byte
	// Config is what it says, with what lies in the folders beside it.
	Config siteconfig.SiteConfig
	// Problems are what is wrong with it; with any, Config must not be used.
	Problems []siteconfig.Problem
}

// ReadFolder reads the configuration of a folder or volume. An error is one of reading; one that matches ErrNoFile
// says that there is none.
func ReadFolder(files fs.FS) (File, error) {
	r := &reader{files: files}
	name, err := r.findConfig()
	if err != nil {
		return File{}, err
	}
	data, err := r.readFile(name, siteconfig.MaxSize)
	if err != nil {
		return File{Name: name}, err
	}
	f := File{Name: name, Data: data}
	f.Config, f.Problems = siteconfig.Decode(data)
	if err := r.addCompanionFiles(&f); err != nil {
		return f, err
	}
	return f, nil
}

// reader reads no more than the bounds allow.
type reader struct {
	files fs.FS
	count int
	total int64
}

func (r *reader) findConfig() (string, error) {
	var found []string
	for _, folder := range []string{".", clusterFolder} {
		at, entries, err := r.listFolder(folder)
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			if slices.Contains(Names(), strings.ToLower(e.Name())) {
				found = append(found, path.Join(at, e.Name()))
			}
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%w: a file with the name %s is expected", ErrNoFile, Names()[0])
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("there is more than one configuration file: %s; keep one", strings.Join(found, ", "))
}

// listFolder returns the name of a folder as it is written there, in any case of letters, and its files; none for a folder that is missing.
func (r *reader) listFolder(folder string) (name string, entries []fs.DirEntry, err error) {
	name, ok, err := r.resolveFolder(folder)
	if err != nil || !ok {
		return "", nil, err
	}
	entries, err = fs.ReadDir(r.files, name)
	if err != nil {
		return "", nil, fmt.Errorf("list the files of %s: %w", folder, err)
	}
	return name, slices.DeleteFunc(entries, isIgnored), nil
}

// resolveFolder finds a folder part by part, whatever the case of its letters. A link is not a folder.
func (r *reader) resolveFolder(folder string) (string, bool, error) {
	at := "."
	if folder == "." {
		return at, true, nil
	}
	for part := range strings.SplitSeq(folder, "/") {
		entries, err := fs.ReadDir(r.files, at)
		if err != nil {
			return "", false, fmt.Errorf("list the files of %s: %w", at, err)
		}
		i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() && strings.EqualFold(e.Name(), part) })
		if i < 0 {
			return "", false, nil
		}
		at = path.Join(at, entries[i].Name())
	}
	return at, true, nil
}

// isIgnored are what systems leave on a stick without being asked.
func isIgnored(e fs.DirEntry) bool {
	return strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "~")
}

// readFile reads a regular file whole.
func (r *reader) readFile(name string, limit int64) ([]byte, error) {
	if r.count++; r.count > maxFiles {
		return nil, fmt.Errorf("read %s: there are more than %d files", name, maxFiles)
	}
	entries, err := fs.ReadDir(r.files, path.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == path.Base(name) })
	if i < 0 || !entries[i].Type().IsRegular() {
		return nil, fmt.Errorf("read %s: it is not a regular file (a link, perhaps); copy the file itself", name)
	}
	f, err := r.files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %s: it is longer than %d bytes", name, limit)
	}
	if r.total += int64(len(data)); r.total > maxTotal {
		return nil, fmt.Errorf("read %s: all files together are longer than %d bytes", name, maxTotal)
	}
	return data, nil
}
