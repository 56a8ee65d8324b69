package effects

import (
	"fmt"
	"reflect"
	"strings"
)

// Plant writes a made-up value at the path of a field, and what is needed to get there. A test compares what comes of it with what comes
// of nothing: where that is the same, the field is dropped.
func Plant(v reflect.Value, path string) error {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	if bytes, ok := v.Addr().Interface().(*[]byte); ok {
		*bytes = []byte(`{"planted":"planted"}`) // an object that is kept as it is, such as runtime.RawExtension
		return nil
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		v = v.Index(0)
	}
	switch v.Kind() {
	case reflect.Struct:
		return plantField(v, path)
	case reflect.String:
		v.SetString("planted")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Map:
		planted := reflect.ValueOf("planted")
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(planted.Convert(v.Type().Key()), planted.Convert(v.Type().Elem()))
	default:
		return fmt.Errorf("plant a value at %s: no value of kind %s is made up here", path, v.Kind())
	}
	return nil
}

func plantField(v reflect.Value, path string) error {
	for i := range v.NumField() {
		name := keyOf(v.Type().Field(i))
		if rest, ok := strings.CutPrefix(path, name); ok && name != "" {
			rest = strings.TrimPrefix(rest, "[]")
			if rest == "" || strings.HasPrefix(rest, ".") {
				return Plant(v.Field(i), strings.TrimPrefix(rest, "."))
			}
		}
	}
	return fmt.Errorf("plant a value: %s has no field %s", v.Type(), path)
}

// keyOf is the key of a field in JSON and YAML.
func keyOf(f reflect.StructField) string {
	key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if key == "" && !f.Anonymous {
		return f.Name
	}
	return key
}
