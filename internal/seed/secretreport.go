package seed

import (
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/secretscan"
)

// SecretReport is what an operation found of secrets; SecretsFile holds it.
type SecretReport struct {
	OperationID string `json:"operation-id"`
	secretscan.Report
}

// ReadSecretReport loads the report of the operation that looked last; an error matching fs.ErrNotExist where none did.
func ReadSecretReport(files host.Files) (r SecretReport, err error) {
	return r, operation.ReadJSON(files, SecretsFile, &r)
}
