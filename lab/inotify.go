package lab

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// What nspawn nodes share: root's inotify instances, of which systemd, kubelet and NetworkManager of each node take some
// thirty. The kernel allows 128 by default, which a fourth node exhausts: its units then fail with "too many open files".
const (
	inotifyLimit   = "/proc/sys/fs/inotify/max_user_instances"
	enoughWatchers = 1024
)

// raiseInotifyLimit raises the limit in the file unless it is high enough. It stays so until the machine boots.
func raiseInotifyLimit(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read how many inotify instances nodes may have: %w", err)
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("read how many inotify instances nodes may have, in %s: %w", file, err)
	}
	if limit >= enoughWatchers {
		return nil
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(enoughWatchers)), 0o644); err != nil {
		return fmt.Errorf("all nodes together may have %d inotify instances, and four need more: raise the limit with "+
			"`sysctl fs.inotify.max_user_instances=%d`: %w", limit, enoughWatchers, err)
	}
	return nil
}
