package main

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/lab/apiserverflags"
)

// staticPod is one manifest.
type staticPod struct {
	*corev1.Pod
	file string
	text []byte
}

// command is a container's process on the host.
type command struct {
	name string // container name
	argv []string
	env  []string // added to the agent's own environment
}

// readManifests reads every manifest of dir in the order of the file names, which starts etcd before kube-apiserver. Hidden files
// are skipped, as the kubelet does.
func readManifests(dir string) ([]staticPod, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the static pods: %w", err)
	}
	var pods []staticPod
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || strings.HasPrefix(name, ".") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("read the static pod %s: %w", name, err)
		}
		pod := &corev1.Pod{}
		if err := yaml.Unmarshal(text, pod); err != nil {
			return nil, fmt.Errorf("parse the static pod %s: %w", name, err)
		}
		if pod.Kind != "Pod" || len(pod.Spec.Containers) == 0 {
			return nil, fmt.Errorf("parse the static pod %s: not a Pod with containers", name)
		}
		pods = append(pods, staticPod{Pod: pod, file: name, text: text})
	}
	return pods, nil
}

// commands turns the pod's containers into host processes. hostIP answers fieldRef status.hostIP.
func (n *node) commands(pod staticPod, hostIP netip.Addr) ([]command, error) {
	hostPaths := map[string]string{}
	for _, v := range pod.Spec.Volumes {
		if v.HostPath != nil {
			hostPaths[v.Name] = v.HostPath.Path
		}
	}
	var out []command
	for _, c := range pod.Spec.Containers {
		env, err := containerEnv(pod.Pod, c, hostIP)
		if err != nil {
			return nil, fmt.Errorf("static pod %s, container %s: %w", pod.file, c.Name, err)
		}
		paths := n.pathMap(c, hostPaths)
		argv, err := n.argv(c, env, paths)
		if err != nil {
			return nil, fmt.Errorf("static pod %s, container %s: %w", pod.file, c.Name, err)
		}
		out = append(out, command{name: c.Name, argv: argv, env: environ(env, paths)})
	}
	return out, nil
}

// argv is the container's command with variables, paths and --openshift-config resolved.
func (n *node) argv(c corev1.Container, env map[string]string, paths *pathMap) ([]string, error) {
	if len(c.Command) == 0 {
		return nil, fmt.Errorf("no command: the lab has no images to take one from")
	}
	var argv []string
	for _, word := range append(append([]string{}, c.Command...), c.Args...) {
		word = expand(word, env)
		config, ok := strings.CutPrefix(word, "--openshift-config=")
		if !ok {
			argv = append(argv, paths.translate(word))
			continue
		}
		flags, err := apiserverflags.FromFile(paths.translate(config), paths.translate)
		if err != nil {
			return nil, err
		}
		argv = append(argv, flags...)
	}
	argv[0] = filepath.Join(n.binDir, filepath.Base(argv[0]))
	return argv, nil
}

// containerEnv resolves the container's variables; later ones may refer to earlier ones.
func containerEnv(pod *corev1.Pod, c corev1.Container, hostIP netip.Addr) (map[string]string, error) {
	env := map[string]string{}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			env[e.Name] = expand(e.Value, env)
			continue
		}
		if e.ValueFrom.FieldRef == nil {
			return nil, fmt.Errorf("variable %s: only values and fieldRef are supported", e.Name)
		}
		switch path := e.ValueFrom.FieldRef.FieldPath; path {
		case "metadata.name":
			env[e.Name] = pod.Name
		case "metadata.namespace":
			env[e.Name] = pod.Namespace
		case "status.hostIP", "status.podIP":
			env[e.Name] = hostIP.String()
		default:
			return nil, fmt.Errorf("variable %s: field %s is not supported", e.Name, path)
		}
	}
	return env, nil
}

// expand replaces $(NAME) by the variable's value. Kubernetes leaves unknown names as they are, and $$ stands for one $.
func expand(text string, env map[string]string) string {
	var out strings.Builder
	for {
		head, tail, found := strings.Cut(text, "$")
		out.WriteString(head)
		if !found {
			return out.String()
		}
		name, rest, closed := strings.Cut(strings.TrimPrefix(tail, "("), ")")
		value, known := env[name]
		switch {
		case strings.HasPrefix(tail, "$"):
			out.WriteString("$")
			text = tail[1:]
		case strings.HasPrefix(tail, "(") && closed && known:
			out.WriteString(value)
			text = rest
		default:
			out.WriteString("$")
			text = tail
		}
	}
}

// environ lists the variables for a process, sorted, with paths translated.
func environ(env map[string]string, paths *pathMap) []string {
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+paths.translate(value))
	}
	sort.Strings(out)
	return out
}
