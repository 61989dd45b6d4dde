package wirelog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// committer is the one goroutine that writes and syncs. Everything below is
// its own, apart from what passes through the channel.
type committer struct {
	fs       FS
	opts     Options
	requests chan *request
	done     chan struct{} // closed when run has returned
	stop     chan struct{} // closed to end it
	stopOnce sync.Once

	open  []*Agent // that have a file open
	clock uint64   // counts uses, for the least recently used
}

// request is one Commit or Release. The committer closes done.
type request struct {
	agents  []*Agent
	release bool
	done    chan struct{}
	err     error
}

func newCommitter(fsys FS, opts Options) *committer {
	c := &committer{
		fs: fsys, opts: opts, requests: make(chan *request), done: make(chan struct{}), stop: make(chan struct{}),
	}
	go c.run()
	return c
}

func (c *committer) do(ctx context.Context, r *request) error {
	r.done = make(chan struct{})
	select {
	case c.requests <- r:
	case <-c.stop:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	<-r.done
	return r.err
}

func (c *committer) close() error {
	c.stopOnce.Do(func() { close(c.stop) })
	<-c.done
	var errs []error
	for _, a := range c.open {
		errs = append(errs, a.file.Close())
		a.file = nil
	}
	c.open = nil
	return errors.Join(errs...)
}

func (c *committer) run() {
	defer close(c.done)
	for {
		select {
		case r := <-c.requests:
			c.group(c.gather(r))
		case <-c.stop:
			return
		}
	}
}

// gather waits a moment for other requests, so that one sync serves them all.
func (c *committer) gather(first *request) []*request {
	group := []*request{first}
	var late <-chan time.Time
	if c.opts.Delay > 0 {
		t := time.NewTimer(c.opts.Delay)
		defer t.Stop()
		late = t.C
	} else {
		now := make(chan time.Time)
		close(now)
		late = now
	}
	for {
		select {
		case r := <-c.requests:
			group = append(group, r)
		case <-late:
			return group
		case <-c.stop:
			return group
		}
	}
}

// group makes all requests durable and answers them.
func (c *committer) group(group []*request) {
	var agents []*Agent
	for _, r := range group {
		for _, a := range r.agents {
			if a.err = nil; r.release {
				c.closeFile(a)
			} else if a.Dirty() {
				agents = append(agents, a)
			}
		}
	}
	for chunk := range slices.Chunk(agents, c.opts.MaxOpen) {
		c.save(chunk)
	}
	for _, r := range group {
		for _, a := range r.agents {
			if a.err != nil {
				r.err = errors.Join(r.err, fmt.Errorf("write %s/%s: %w", a.dir, openFile, a.err))
				break // one is enough: a full disk fails them all
			}
		}
		close(r.done)
	}
}

// save writes the buffers of at most MaxOpen agents and syncs them together.
func (c *committer) save(agents []*Agent) {
	var written []*Agent
	var files []File
	var dirs []string
	for _, a := range agents {
		if a.err = c.write(a); a.err != nil {
			a.broken = true
			continue
		}
		written = append(written, a)
		files = append(files, a.file)
		dirs = append(dirs, a.syncDirs...)
	}
	if len(written) == 0 {
		return
	}
	slices.Sort(dirs)
	if err := c.fs.Persist(files, slices.Compact(dirs)); err != nil {
		for _, a := range written {
			// The pages may be gone and pass as clean: this file is opened
			// again and written anew from where it was durable.
			a.err, a.broken = fmt.Errorf("sync: %w", err), true
			c.closeFile(a)
		}
		return
	}
	for _, a := range written {
		a.settled()
		if a.durable >= c.opts.PartSize {
			c.closeFile(a)
			a.err = finishPart(c.fs, a)
		}
	}
}

// write puts an agent's buffer behind what is durable.
func (c *committer) write(a *Agent) error {
	if err := c.use(a); err != nil {
		return err
	}
	if a.broken {
		if err := a.file.Truncate(a.durable); err != nil {
			return err
		}
		a.broken = false
	}
	_, err := a.file.WriteAt(a.buf, a.durable)
	return err
}

// use opens the agent's file, closing the least recently used one when there
// are too many.
func (c *committer) use(a *Agent) error {
	c.clock++
	a.used = c.clock
	if a.file != nil {
		return nil
	}
	if len(c.open) >= c.opts.MaxOpen {
		oldest := slices.MinFunc(c.open, func(x, y *Agent) int { return int(int64(x.used) - int64(y.used)) })
		c.closeFile(oldest)
	}
	f, err := c.fs.Open(a.dir+"/"+openFile, a.durable == 0)
	if err != nil {
		if notExist(err) {
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
		return err
	}
	size, err := f.Size()
	if err == nil && (size < a.durable || size > a.durable && !a.broken) {
		err = fmt.Errorf("%w: it has %d bytes, %d were written", ErrChanged, size, a.durable)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	a.file = f
	c.open = append(c.open, a)
	return nil
}

func (c *committer) closeFile(a *Agent) {
	if a.file == nil {
		return
	}
	// What was durable stays so and the rest is written again, so an error of
	// Close tells nothing new.
	_ = a.file.Close()
	a.file = nil
	c.open = slices.DeleteFunc(c.open, func(o *Agent) bool { return o == a })
}

// settled notes that all of the buffer is durable.
func (a *Agent) settled() {
	a.syncDirs = nil
	if len(a.buf) == 0 {
		return
	}
	a.durable += int64(len(a.buf))
	a.mark = a.position()
	if buf := a.buf; cap(buf) <= poolBuffer {
		a.bufs.Put(&buf)
	}
	a.buf = nil // an agent without lines to write holds no buffer
}

// poolBuffer is the largest buffer that is used again.
const poolBuffer = 1 << 20

// finishPart gives the open file its number. The next line begins a new one.
func finishPart(fsys FS, a *Agent) error {
	if err := fsys.Rename(a.dir+"/"+openFile, a.dir+"/"+partName(a.part)); err != nil {
		return fmt.Errorf("finish part %d: %w", a.part, err)
	}
	if err := fsys.Persist(nil, []string{a.dir}); err != nil {
		return fmt.Errorf("finish part %d: %w", a.part, err)
	}
	a.newPart(a.part)
	a.syncDirs = []string{a.dir}
	return nil
}
