package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

var errNoObject = errors.New("not a Kubernetes object: it has no apiVersion and kind")

// decodeStrict decodes a document and refuses fields that its kind does not have.
func decodeStrict(raw []byte, into any) error {
	text, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return fmt.Errorf("read the YAML: %w", err)
	}
	unknown, err := kjson.UnmarshalStrict(text, into)
	return errors.Join(append(unknown, inWords(err))...)
}

// decodeLoose decodes a document and passes over fields that into does not have.
func decodeLoose(raw []byte, into any) error {
	text, err := yaml.YAMLToJSON(raw)
	if err != nil {
		return fmt.Errorf("read the YAML: %w", err)
	}
	if !strings.HasPrefix(string(text), "{") {
		return errNoObject
	}
	return inWords(kjson.UnmarshalCaseSensitivePreserveInts(text, into))
}

// inWords names the field of a value that has the wrong type, and no type of Go.
func inWords(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	return fmt.Errorf("field %s: is a %s, must be %s", wrong.Field, wrong.Value, typeInWords(wrong.Type))
}

func typeInWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "an object"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	default: // every other kind is a number
	}
	return "a number"
}
