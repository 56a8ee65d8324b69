package recert

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"
)

// Operators note in a Deployment, and in its pods' template, hashes of the config maps and secrets that it was made from, and roll it out
// once more where a hash is of something else (library-go, pkg/operator/resource/resourcehash). The hashes of what a run changes follow:
// then the cluster comes up with what it will stay with, instead of taking its API servers away again minutes later.

const (
	operatorAnnotation = "operator.openshift.io/"
	dependencyPrefix   = "dep-"
	// specHash is of the specification that the operator asked for, before the API server's defaults. It cannot be told from here. The
	// operator writes it again, which by itself rolls nothing out.
	specHash = "spec-hash"
)

// hashingDeployments carry hashes of the config maps and secrets that they were made from.
func hashingDeployments() []string {
	return []string{"deployments/openshift-apiserver/apiserver", "deployments/openshift-oauth-apiserver/apiserver"}
}

// followDependencies writes the hashes of what this run changes. One that is not the hash of what was there before is made in a way that is
// not known here: it stays, and the plan says what comes of it.
func (s *scan) followDependencies() error {
	sources := map[string]*object{}
	for _, o := range s.objects {
		if o.changed {
			sources[strings.TrimPrefix(o.key, storagePrefix)] = o
		}
	}
	for _, d := range s.hashing {
		if err := s.followInto(d, sources); err != nil {
			return err
		}
		if d.changed && !slices.Contains(s.objects, d) {
			s.objects = append(s.objects, d)
		}
	}
	return nil
}

func (s *scan) followInto(d *object, sources map[string]*object) error {
	var failed error
	specNoted := false
	err := d.edit(func(at []string, text string) (string, bool) {
		name, ok := operatorNote(at)
		specNoted = specNoted || name == specHash
		source := sources[dependency(name)]
		if !ok || source == nil || failed != nil {
			return text, false
		}
		var fresh string
		fresh, failed = s.followHash(d, at, text, source)
		return fresh, fresh != text
	})
	if specNoted && d.changed {
		s.noted(d, "its operator writes it once more: its hash of its own specification is of before the change")
	}
	return cmp.Or(failed, err)
}

// followHash is the hash of an object that changes, where the old one is of what it was.
func (s *scan) followHash(d *object, at []string, noted string, source *object) (string, error) {
	before, err := resourceHash(source, source.was)
	if err != nil {
		return noted, err
	}
	now, err := resourceHash(source, source.value)
	if err != nil || noted == now { // an interrupted run wrote it
		return noted, err
	}
	name := strings.TrimPrefix(source.key, storagePrefix)
	if noted != before {
		s.noted(d, "its operator rolls it out once more: its hash of "+name+" is of before the change")
		return noted, nil
	}
	s.rewritten(d, at, "hash of "+name)
	return now, nil
}

// noted says once what stays in an object.
func (s *scan) noted(o *object, why string) {
	if note := (Note{o.key, why}); !slices.Contains(s.plan.Kept, note) {
		s.plan.Kept = append(s.plan.Kept, note)
	}
}

// operatorNote is the name of an operator's annotation of a workload, or of its pods' template.
func operatorNote(at []string) (name string, ok bool) {
	annotation := []string{"metadata", "annotations", "*"}
	if !matchPath(annotation, at) && !matchPath(append([]string{"spec", "template"}, annotation...), at) {
		return "", false
	}
	return strings.CutPrefix(at[len(at)-1], operatorAnnotation)
}

// dependency reads "dep-NAMESPACE.NAME.KIND" as a key below the storage prefix; empty where it is none.
func dependency(note string) string {
	text, ok := strings.CutPrefix(note, dependencyPrefix)
	parts := strings.Split(text, ".")
	if !ok || len(parts) != 3 || !slices.Contains([]string{"configmap", "secret"}, parts[2]) {
		return ""
	}
	return parts[2] + "s/" + parts[0] + "/" + parts[1]
}

// resourceHash is the hash of an object's data as library-go takes it: FNV-1 over what Go writes as JSON, bytes of a Secret in base64.
func resourceHash(o *object, value []byte) (string, error) {
	texts := map[string]string{}
	binary := map[string][]byte{}
	err := (&object{key: o.key, value: value}).walk(func(at []string, text string) {
		if len(at) == 2 && at[0] == "data" {
			texts[at[1]], binary[at[1]] = text, []byte(text)
		}
	})
	if err != nil {
		return "", err
	}
	var data any = texts
	if strings.HasPrefix(o.key, storagePrefix+"secrets/") {
		data = binary
	}
	sum := fnv.New32()
	if err := json.NewEncoder(sum).Encode(data); err != nil {
		return "", err
	}
	return base64.URLEncoding.EncodeToString(sum.Sum(nil)), nil
}
