package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// BuildImage makes the image of a Containerfile that starts from nothing and only copies programs of binDir.
func BuildImage(containerfile, binDir, name string) (Image, error) {
	text, err := os.ReadFile(containerfile)
	if err != nil {
		return Image{}, fmt.Errorf("build image %s: %w", name, err)
	}
	image := Image{Names: []string{name}, Files: map[string]string{}}
	for line := range strings.Lines(string(text)) {
		if err := image.instruction(strings.TrimSpace(line), binDir); err != nil {
			return Image{}, fmt.Errorf("build image %s: %w", name, err)
		}
	}
	return image, nil
}

// instruction carries out one line of a Containerfile.
func (i *Image) instruction(line, binDir string) error {
	word, rest, _ := strings.Cut(line, " ")
	fields := strings.Fields(rest)
	switch {
	case line == "" || strings.HasPrefix(line, "#") || line == "FROM scratch":
	case word == "COPY" && len(fields) > 1:
		to := strings.TrimPrefix(fields[len(fields)-1], "/")
		for _, program := range fields[:len(fields)-1] {
			i.Files[path.Join(to, program)] = filepath.Join(binDir, program)
		}
	case word == "USER" && len(fields) == 1:
		i.User = rest
	case word == "ENTRYPOINT":
		return json.Unmarshal([]byte(rest), &i.Entrypoint)
	default:
		return fmt.Errorf("unsupported instruction %q", line)
	}
	return nil
}
