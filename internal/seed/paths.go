package seed

import (
	"path"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Units of the operations.
const (
	// UnitCreate runs "lca-cli seed create".
	UnitCreate = "lca-generate-seed-image.service"
	// UnitRestore runs "lca-cli seed restore" up to the reboot.
	UnitRestore = "lca-restore-seed-image.service"
	// UnitRestoreUndo removes, at the next boot, what a restore left behind that a power cut ended.
	UnitRestoreUndo = "lca-restore-seed-image-undo.service"
)

// Files of an operation. The folder's name is the field's; only root may read it.
const (
	Dir = host.StateDir + "/ibu-seedgen-orch"
	// RequestFile holds the Request. The controller writes it last, when all that it names is in place.
	RequestFile = Dir + "/seed-request.json"
	// AuthFile holds the credentials of the registry, as a containers auth.json; removed when the operation has ended.
	AuthFile = Dir + "/auth.json"
	// SigningKeyFile is an optional private key of cosign, in PEM, and SigningPasswordFile its password; removed with AuthFile.
	SigningKeyFile      = Dir + "/cosign.key"
	SigningPasswordFile = Dir + "/cosign.password"
	// OutcomeFile holds the Outcome of the last operation that published an image.
	OutcomeFile = Dir + "/outcome.json"
	// SecretsFile holds what the last operation found of secrets, also where it refused to publish.
	SecretsFile = Dir + "/secrets.json"
	// AnnouncedFile holds what an operation was about to publish: after an interruption the tag may be its own.
	AnnouncedFile = Dir + "/announced.json"
)

// Files of a restore, in the stateroot that it starts from. Only root may read the folder; it exists while a restore is under way.
const (
	RestoreDir = host.StateDir + "/seed-restore"
	// RestoreFile holds the request. It is written last, when all that it needs is in place.
	RestoreFile = RestoreDir + "/request.json"
	// RestoreSiteFile is the site configuration, RestoreAuthFile the credentials of the registry. Secret.
	RestoreSiteFile = RestoreDir + "/site-config.yaml"
	RestoreAuthFile = RestoreDir + "/auth.json"
	// RestorePullFile is the site's pull secret, while images are fetched. Secret.
	RestorePullFile = RestoreDir + "/pull-secret.json"
	// RestoreRepo is where the image's ostree repository is unpacked, until its commit is in the node's own.
	RestoreRepo = RestoreDir + "/repo"
)

// CopiesDir is where operations keep the copies that images are made from. It is below StateDir, which no image holds.
const CopiesDir = host.StateDir + "/seed"

// CopyDir is the folder of one operation's copy.
func CopyDir(operation string) string { return path.Join(CopiesDir, operation) }
