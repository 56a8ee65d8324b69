package containerimage

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// trusted is where this machine keeps the certificate authorities that an image gets.
const trusted = "/etc/ssl/certs/ca-certificates.crt"

// Build makes the image of a Containerfile whose last stage starts from nothing and only copies: programs, which are
// taken from binDir instead of an earlier stage, and certificate authorities.
func Build(containerfile, binDir, name string) (Image, error) {
	text, err := os.ReadFile(containerfile)
	if err != nil {
		return Image{}, fmt.Errorf("build image %s: %w", name, err)
	}
	stage := "FROM " + string(text)[strings.LastIndex("\n"+string(text), "\nFROM ")+len("FROM "):]
	image := Image{Names: []string{name}, Files: map[string]string{}}
	for line := range strings.Lines(stage) {
		if err := image.instruction(strings.TrimSpace(line), binDir); err != nil {
			return Image{}, fmt.Errorf("build image %s: %w", name, err)
		}
	}
	return image, nil
}

// instruction carries out one line of a stage.
func (i *Image) instruction(line, binDir string) error {
	word, rest, _ := strings.Cut(line, " ")
	fields := strings.Fields(rest)
	switch {
	case line == "" || strings.HasPrefix(line, "#") || line == "FROM scratch":
	case word == "COPY" && len(fields) > 2 && strings.HasPrefix(fields[0], "--from="):
		for _, file := range fields[1 : len(fields)-1] {
			i.copy(path.Base(file), fields[len(fields)-1], binDir)
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

func (i *Image) copy(name, folder, binDir string) {
	from := filepath.Join(binDir, name)
	if name == filepath.Base(trusted) {
		from = trusted
	}
	i.Files[path.Join(strings.TrimPrefix(folder, "/"), name)] = from
}
