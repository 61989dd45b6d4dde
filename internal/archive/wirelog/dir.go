package wirelog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Options tune a Dir; zero values take the defaults.
type Options struct {
	// Delay is how long a commit waits for others to share its sync (3 ms;
	// below 0: not at all).
	Delay time.Duration
	// MaxOpen bounds the files kept open (512).
	MaxOpen int
	// PartSize is the size from which a part is finished (64 MiB).
	PartSize int64
}

func (o Options) withDefaults() Options {
	if o.Delay == 0 {
		o.Delay = 3 * time.Millisecond
	}
	if o.MaxOpen <= 0 {
		o.MaxOpen = 512
	}
	if o.PartSize <= 0 {
		o.PartSize = PartSize
	}
	return o
}

// Dir is the writing side of one data directory. One process holds it at a
// time. Open and Commit may be called concurrently, for different agents.
type Dir struct {
	fs      FS
	opts    Options
	id      string
	commits *committer
	bufs    sync.Pool // of *[]byte
	closers []io.Closer
}

// OpenDir opens the data directory, makes it when it is new, and locks it.
// ErrLocked.
func OpenDir(dir string, opts Options) (*Dir, error) {
	fsys, closer, err := OpenFS(dir)
	if err != nil {
		return nil, err
	}
	d, err := OpenDirFS(fsys, opts)
	if err != nil {
		return nil, errors.Join(err, closer.Close())
	}
	d.closers = append(d.closers, closer)
	return d, nil
}

// OpenDirFS is OpenDir on another file system.
func OpenDirFS(fsys FS, opts Options) (*Dir, error) {
	lock, err := fsys.Lock()
	if err != nil {
		return nil, err
	}
	d := &Dir{fs: fsys, opts: opts.withDefaults(), closers: []io.Closer{lock}}
	d.bufs.New = func() any { return new([]byte) }
	if d.id, err = identity(fsys); err != nil {
		return nil, errors.Join(fmt.Errorf("identify the data directory: %w", err), lock.Close())
	}
	d.commits = newCommitter(fsys, d.opts)
	return d, nil
}

// ID names this data directory for ever: positions saved elsewhere say by it
// whose files they are about.
func (d *Dir) ID() string { return d.id }

// Close waits for the commits under way and releases the directory.
func (d *Dir) Close() error {
	errs := []error{d.commits.close()}
	for _, c := range d.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Commit makes durable all that was added to the agents, together with what
// other calls bring at the same time. Once it has begun it is not interrupted
// by ctx. After an error the lines of those agents that could not be saved
// stay with them: Commit again. ErrDiskFull; ErrChanged when an agent has to
// be opened anew.
func (d *Dir) Commit(ctx context.Context, agents []*Agent) error {
	return d.commits.do(ctx, &request{agents: agents})
}

// Release closes the files of agents that are given up, and forgets what was
// added to them since their last Commit.
func (d *Dir) Release(ctx context.Context, agents []*Agent) error {
	return d.commits.do(ctx, &request{agents: agents, release: true})
}
