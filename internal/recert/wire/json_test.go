package wire

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// FuzzJSON holds the editor against encoding/json: it sees every string where that sees it, and writing each back as it is leaves
// the same document; what is no JSON is refused.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":"b"}`, `[]`, ` "x" `, `{"a":[1,-2.5e7,true,null,{"":""}],"b\u0022":"\ud83d\ude00\\"}`, "{\"a\":\"\xff\"}\n", `{"a":1 , "b" : [ "c" ]}`, `{"a":"b"} {}`, `{`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		seen := map[string]string{}
		out, err := EditJSON(doc, func(path []string, text string) (string, bool) {
			seen[valid(strings.Join(path, "\x00"))] = valid(text)
			return text, true
		})
		var before, after any
		if json.Unmarshal(doc, &before) != nil {
			if err == nil {
				t.Fatalf("%q was taken for JSON", doc)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q (%v)", doc, out, err)
		}
		eachString(before, nil, func(path []string, text string) {
			if got, ok := seen[strings.Join(path, "\x00")]; !ok || got != text {
				t.Errorf("at %q: saw %q (%v), want %q", path, got, ok, text)
			}
		})
	})
}

// valid is a text as encoding/json understands it.
func valid(text string) string { return string([]rune(text)) }

// eachString visits every string of a decoded document.
func eachString(v any, path []string, visit func([]string, string)) {
	switch v := v.(type) {
	case string:
		visit(path, v)
	case []any:
		for i, item := range v {
			eachString(item, append(path, strconv.Itoa(i)), visit)
		}
	case map[string]any:
		for k, item := range v {
			eachString(item, append(path, k), visit)
		}
	}
}
