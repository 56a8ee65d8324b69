package clustercopy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// pod is what of a static pod's manifest matters.
type pod struct {
	Metadata struct{ Name, Namespace string } `json:"metadata"`
	Spec     struct {
		Containers []manifestContainer `json:"containers"`
		Volumes    []struct {
			Name     string                 `json:"name"`
			HostPath *struct{ Path string } `json:"hostPath"`
		} `json:"volumes"`
	} `json:"spec"`
}

type manifestContainer struct {
	Name, Image   string
	Command, Args []string
	Env           []struct {
		Name, Value string
		ValueFrom   *struct {
			FieldRef *struct {
				FieldPath string `json:"fieldPath"`
			} `json:"fieldRef"`
		} `json:"valueFrom"`
	}
	VolumeMounts []struct {
		Name      string `json:"name"`
		MountPath string `json:"mountPath"`
		SubPath   string `json:"subPath"`
	} `json:"volumeMounts"`
}

// container is one, ready to be run.
type container struct {
	image              string
	command, args, env []string
	mounts             []mount
}

type mount struct{ source, target string }

// readContainer reads a container from the manifest in the copy. Its folders of the node are those of the copy, empty where the copy lacks
// them: nothing of the node itself is mounted.
func readContainer(root string, s host.StaticContainer) (container, error) {
	file := filepath.Join(root, s.Manifest)
	text, err := os.ReadFile(file)
	if err != nil {
		return container{}, fmt.Errorf("read the static pod of container %s: %w", s.Name, err)
	}
	var p pod
	if err := yaml.Unmarshal(text, &p); err != nil {
		return container{}, fmt.Errorf("parse the static pod %s: %w", s.Manifest, err)
	}
	for _, c := range p.Spec.Containers {
		if c.Name != s.Name || c.Image == "" {
			continue
		}
		env, err := p.readEnvironment(c, s)
		if err != nil {
			return container{}, fmt.Errorf("static pod %s, container %s: %w", s.Manifest, s.Name, err)
		}
		mounts, err := p.findMounts(root, c)
		if err != nil {
			return container{}, fmt.Errorf("static pod %s, container %s: %w", s.Manifest, s.Name, err)
		}
		out := container{image: c.Image, mounts: mounts, command: expandAll(c.Command, env), args: expandAll(c.Args, env)}
		for _, e := range c.Env {
			out.env = append(out.env, e.Name+"="+env[e.Name])
		}
		return out, nil
	}
	return container{}, fmt.Errorf("static pod %s has no image for a container named %s", s.Manifest, s.Name)
}

func (p pod) readEnvironment(c manifestContainer, s host.StaticContainer) (map[string]string, error) {
	env := map[string]string{}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			env[e.Name] = expandVariables(e.Value, env)
			continue
		}
		if e.ValueFrom.FieldRef == nil {
			return nil, fmt.Errorf("variable %s is neither a value nor a field of the pod", e.Name)
		}
		switch field := e.ValueFrom.FieldRef.FieldPath; field {
		case "metadata.name":
			env[e.Name] = p.Metadata.Name
		case "metadata.namespace":
			env[e.Name] = p.Metadata.Namespace
		case "status.hostIP", "status.podIP":
			env[e.Name] = s.HostIP.String()
		default:
			return nil, fmt.Errorf("variable %s is field %s of the pod, which is not known here", e.Name, field)
		}
	}
	return env, nil
}

func (p pod) findMounts(root string, c manifestContainer) ([]mount, error) {
	folders := map[string]string{}
	for _, v := range p.Spec.Volumes {
		if v.HostPath != nil {
			folders[v.Name] = v.HostPath.Path
		}
	}
	var out []mount
	for _, m := range c.VolumeMounts {
		folder, known := folders[m.Name]
		if !known {
			return nil, fmt.Errorf("volume %s is no folder of the node", m.Name)
		}
		source := filepath.Join(root, folder, m.SubPath)
		if _, err := os.Stat(source); err != nil {
			if err := os.MkdirAll(source, 0o700); err != nil {
				return nil, fmt.Errorf("make an empty folder for volume %s: %w", m.Name, err)
			}
		}
		out = append(out, mount{source, m.MountPath})
	}
	return out, nil
}

func expandAll(words []string, env map[string]string) (out []string) {
	for _, w := range words {
		out = append(out, expandVariables(w, env))
	}
	return out
}

// expandVariables replaces $(NAME) as the kubelet does: names that it does not know stay, and $$ stands for one $.
func expandVariables(text string, env map[string]string) string {
	var out strings.Builder
	for {
		head, tail, found := strings.Cut(text, "$")
		out.WriteString(head)
		if !found {
			return out.String()
		}
		if strings.HasPrefix(tail, "$") {
			out.WriteString("$")
			text = tail[1:]
			continue
		}
		name, rest, closed := strings.Cut(strings.TrimPrefix(tail, "("), ")")
		if value, known := env[name]; known && closed && strings.HasPrefix(tail, "(") {
			out.WriteString(value)
			text = rest
			continue
		}
		out.WriteString("$")
		text = tail
	}
}
