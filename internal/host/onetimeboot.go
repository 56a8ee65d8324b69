package host

import "context"

// OneTimeBoot has the boot loader start a deployment at one boot only, beside the default that Deployments sets: whatever ends
// that boot, the next one starts the default.
type OneTimeBoot interface {
	// Usable returns the reason why this node's boot loader cannot do it, if there is one. It changes nothing.
	Usable(ctx context.Context) error
	// Install gives the boot loader what it needs. The same systems boot as before. A boot loader replays no file system's
	// journal: what Install writes counts for it once ostree has written a boot menu, which flushes /boot.
	Install(ctx context.Context) error
	// ChooseOnce makes the deployment start at the next boot, and at no later one. It needs Install, is atomic, and survives
	// a power cut at once.
	ChooseOnce(ctx context.Context, d Deployment) error
	// ChosenOnce is the deployment that was chosen and has not been started.
	ChosenOnce(ctx context.Context) (d Deployment, found bool, err error)
	// Uninstall first clears a choice, and then removes what Install has written. Nothing installed is no error.
	Uninstall(ctx context.Context) error
}
