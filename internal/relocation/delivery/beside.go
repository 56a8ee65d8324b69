package delivery

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// addCompanionFiles adds what lies in the folders beside the configuration, and the problems of these files by their names.
func (r *reader) addCompanionFiles(f *File) error {
	before := len(f.Problems)
	err := r.eachFile(connectionsFolder, func(name string, data []byte) {
		f.Config.Connections = append(f.Config.Connections, siteconfig.File{Name: path.Base(name), Content: siteconfig.Secret(data)})
	}, ".nmconnection")
	if err != nil {
		return err
	}
	for _, folder := range []string{manifestsFolder, extraFolder} {
		err := r.eachFile(folder, func(name string, data []byte) {
			objects, problems := siteconfig.DecodeManifests(data)
			for _, p := range problems {
				p.Key = strings.TrimSuffix(name+" "+p.Key, " ")
				f.Problems = append(f.Problems, p)
			}
			f.Config.Manifests = append(f.Config.Manifests, objects...)
		}, ".yaml", ".yml", ".json")
		if err != nil {
			return err
		}
	}
	if before == 0 && len(f.Problems) == 0 {
		f.Problems = siteconfig.Validate(f.Config)
	}
	return nil
}

// eachFile reads the files of a folder that have one of the endings, by name.
func (r *reader) eachFile(folder string, use func(name string, data []byte), endings ...string) error {
	real, entries, err := r.listFolder(folder)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if !slices.Contains(endings, strings.ToLower(path.Ext(e.Name()))) {
			continue
		}
		name := path.Join(real, e.Name())
		data, err := r.readFile(name, siteconfig.MaxSize)
		if err != nil {
			return err
		}
		use(name, data)
	}
	return nil
}
