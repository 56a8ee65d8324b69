package machine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// holdLock takes an exclusive lock on a file until the process ends or the file is closed, and writes the process id in it.
func holdLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := file.Truncate(0); err != nil {
		file.Close()
		return nil, err
	}
	if _, err := fmt.Fprintln(file, os.Getpid()); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// lockHeld says whether a living process holds the lock. Unlike a process id, it cannot be recycled.
func lockHeld(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}

// initOf returns the host's process id of the container's PID 1 below its nspawn process, 0 when there is none (yet).
func initOf(nspawn int) int {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0
	}
	for _, dir := range processes {
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		if err != nil {
			continue
		}
		if field(status, "PPid") != strconv.Itoa(nspawn) {
			continue
		}
		// NSpid lists the id in each nested namespace; the container's init is 1 in the innermost.
		ids := strings.Fields(field(status, "NSpid"))
		if len(ids) > 1 && ids[len(ids)-1] == "1" {
			pid, _ := strconv.Atoi(ids[0])
			return pid
		}
	}
	return 0
}

func field(status []byte, name string) string {
	for line := range bytes.Lines(status) {
		if key, value, ok := strings.Cut(string(line), ":"); ok && key == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func readPID(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}
