package relocation

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// WishFile is what a person, or the watchdog, has asked for and is not done yet.
const WishFile = Dir + "/wish.json"

// What may be wished for.
const (
	// WishRollback is the factory state.
	WishRollback = "rollback"
	// WishCancel is the factory's cluster.
	WishCancel = "cancel"
)

// Wish is wish.json. It is written before anything is done, so that a power cut does not lose it: UnitReconfigure carries
// it out at the next boot, before it waits for a configuration.
type Wish struct {
	Action string    `json:"action"`
	Cause  string    `json:"cause"`
	Asked  time.Time `json:"asked"`
}

// ReadWish loads it; found is false where nothing is wished for.
func ReadWish(files host.Files) (w Wish, found bool, err error) {
	err = operation.ReadJSON(files, WishFile, &w)
	if errors.Is(err, fs.ErrNotExist) {
		return Wish{}, false, nil
	}
	return w, err == nil, err
}

// ForgetWish removes it.
func ForgetWish(files host.Files) error {
	if err := files.Remove(WishFile); err != nil {
		return fmt.Errorf("remove %s: %w", WishFile, err)
	}
	return nil
}
