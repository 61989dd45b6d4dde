package wirelog

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// fsSync makes a whole file system durable in one call.
type fsSync struct{ root *os.File }

// newFSSync returns nil where the call is missing or may hide errors: before
// Linux 5.8, and on file systems not known to report them.
func newFSSync(dir string) *fsSync {
	var st unix.Statfs_t
	if !kernelAtLeast(5, 8) || unix.Statfs(dir, &st) != nil {
		return nil
	}
	switch int64(st.Type) { //nolint:unconvert // its width differs by architecture
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
	default:
		return nil
	}
	root, err := os.Open(dir)
	if err != nil {
		return nil
	}
	return &fsSync{root: root}
}

// Sync reports every write error since the last call once.
func (s *fsSync) Sync() error { return unix.Syncfs(int(s.root.Fd())) }

func (s *fsSync) Close() error { return s.root.Close() }

func kernelAtLeast(major, minor int) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	parts := strings.SplitN(unix.ByteSliceToString(u.Release[:]), ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(strings.TrimRight(parts[1], "-+abcdefghijklmnopqrstuvwxyz"))
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}
