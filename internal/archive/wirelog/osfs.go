package wirelog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/gofrs/flock"
	"golang.org/x/sync/errgroup"
)

// lockFile keeps a second writer out.
const lockFile = "archive.lock"

// manySyncs is the number of files from which one sync of the whole file
// system is cheaper than one of each file.
const manySyncs = 8

// syncsAtOnce bounds parallel fsync.
const syncsAtOnce = 16

// osFS is FS on a real directory. os.Root keeps every path inside it.
type osFS struct {
	dir  string
	root *os.Root
	all  *fsSync // nil: no sync of a whole file system that reports errors
}

// OpenFS makes the directory (mode 0700) and returns it as FS. Close releases it.
func OpenFS(dir string) (FS, io.Closer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the data directory: %w", wrapFull(err))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open the data directory: %w", err)
	}
	o := &osFS{dir: dir, root: root, all: newFSSync(dir)}
	return o, o, nil
}

func (o *osFS) Close() error {
	if o.all == nil {
		return o.root.Close()
	}
	return errors.Join(o.all.Close(), o.root.Close())
}

func (o *osFS) Open(name string, create bool) (File, error) {
	flag := os.O_RDWR
	if create {
		flag |= os.O_CREATE
	}
	f, err := o.root.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, wrapFull(err)
	}
	return &osFile{f}, nil
}

func (o *osFS) OpenRead(name string) (ReadFile, error) {
	f, err := o.root.Open(name)
	if err != nil {
		return nil, err
	}
	return &osFile{f}, nil
}

func (o *osFS) MkdirAll(name string) error { return wrapFull(o.root.MkdirAll(name, 0o700)) }

func (o *osFS) ReadDir(name string) ([]string, error) { return readNames(o.root.Open(name)) }

func readNames(d *os.File, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, errors.Join(err, d.Close())
}

func (o *osFS) Rename(oldName, newName string) error {
	return wrapFull(o.root.Rename(oldName, newName))
}

func (o *osFS) Remove(name string) error { return o.root.Remove(name) }

func (o *osFS) Persist(files []File, dirs []string) error {
	if o.all != nil && len(files)+len(dirs) >= manySyncs {
		return wrapFull(o.all.Sync())
	}
	var g errgroup.Group
	g.SetLimit(syncsAtOnce)
	for _, f := range files {
		g.Go(func() error { return f.(*osFile).Sync() })
	}
	for _, name := range dirs {
		g.Go(func() error { return o.syncDir(name) })
	}
	return wrapFull(g.Wait())
}

func (o *osFS) syncDir(name string) error {
	d, err := o.root.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil // some systems cannot sync a directory, and need not
	}
	return errors.Join(err, d.Close())
}

func (o *osFS) Lock() (io.Closer, error) {
	l := flock.New(o.dir+"/"+lockFile, flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", lockFile, wrapFull(err))
	case !ok:
		return nil, fmt.Errorf("%w: %s is held; stop the other recorder or give this one another data directory",
			ErrLocked, o.dir+"/"+lockFile)
	}
	return l, nil
}

type osFile struct{ *os.File }

func (f *osFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	return n, wrapFull(err)
}

func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// wrapFull marks the errors that mean that there is no space.
func wrapFull(err error) error {
	if err != nil && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) && !errors.Is(err, ErrDiskFull) {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return err
}

// notExist is fs.ErrNotExist as a question.
func notExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// readFS is ReadFS on a directory that may come and go.
type readFS struct{ dir string }

func (r readFS) OpenRead(name string) (ReadFile, error) {
	f, err := os.OpenInRoot(r.dir, name)
	if err != nil {
		return nil, err
	}
	return &osFile{f}, nil
}

func (r readFS) ReadDir(name string) ([]string, error) { return readNames(os.OpenInRoot(r.dir, name)) }
