//go:build linux || darwin || freebsd

package natsnode

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// freeBytes is what an unprivileged process may still write to dir's disk.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("ask for the free space of %s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // the types differ between systems
}
