package wire

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
)

// kubeconfigFields end with -data and hold PEM in a kubeconfig, YAML or JSON (k8s.io/client-go tools/clientcmd/api/v1);
// afterName is what stands between such a name and its value.
var (
	kubeconfigFields = []string{"client-certificate", "client-key", "certificate-authority"}
	afterName        = regexp.MustCompile(`^-data\\?["']?\s*:\s*\\?["']?`)
)

func editKubeconfig(text string, visit BlobVisitor) string {
	var edits []Edit
	for pos := 0; ; {
		start, end := kubeconfigValue(text, pos)
		if start < 0 {
			return Splice(text, edits)
		}
		pos = end
		plain, err := base64.StdEncoding.DecodeString(text[start:end])
		if err != nil {
			continue
		}
		if pem := EditPEM(string(plain), visit); pem != string(plain) {
			edits = append(edits, Edit{start, end, base64.StdEncoding.EncodeToString([]byte(pem))})
		}
	}
}

// kubeconfigValue finds the next value of a field, in base64, from a position on; -1 is none.
func kubeconfigValue(text string, from int) (start, end int) {
	for {
		name := strings.Index(text[from:], "-data")
		if name < 0 {
			return -1, -1
		}
		name += from
		from = name + len("-data")
		between := afterName.FindString(text[name:])
		if between == "" || !slices.ContainsFunc(kubeconfigFields, func(f string) bool { return strings.HasSuffix(text[:name], f) }) {
			continue
		}
		start = name + len(between)
		digits := len(text) - start - len(strings.TrimLeft(text[start:], base64Digits))
		if digits >= leastPEM {
			end = start + digits
			return start, end + len(text[end:]) - len(strings.TrimLeft(text[end:], "="))
		}
	}
}

// leastPEM is how many digits a value has at least that may be PEM.
const (
	leastPEM     = 16
	base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
)
