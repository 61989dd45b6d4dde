package crashfs

import (
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/stenohq/steno/internal/archive/wirelog"
)

var _ wirelog.FS = (*FS)(nil)

// file is one handle.
type file struct {
	fs     *FS
	n      *inode
	life   int
	closed bool
}

func (h *file) usable(n int64) (int64, error) {
	if h.closed {
		return 0, fs.ErrClosed
	}
	if h.life != h.fs.life {
		return 0, ErrKilled
	}
	return h.fs.step(n)
}

func (h *file) ReadAt(p []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	switch {
	case h.closed:
		return 0, fs.ErrClosed
	case h.life != h.fs.life || h.fs.dead:
		return 0, ErrKilled
	case off >= int64(len(h.n.pages)):
		return 0, io.EOF
	}
	n := copy(p, h.n.pages[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *file) WriteAt(p []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	todo, err := h.usable(int64(len(p)))
	if err != nil && todo == 0 {
		return 0, err
	}
	if c := h.fs.capacity; c > 0 {
		growth := max(off+todo-int64(len(h.n.pages)), 0)
		if room := c - h.fs.used(); growth > room {
			todo = max(todo-(growth-max(room, 0)), 0)
			err = fmt.Errorf("%w: injected", wirelog.ErrDiskFull)
		}
	}
	if todo > 0 {
		w := write{off: off, data: slices.Clone(p[:todo])}
		h.n.pages = apply(h.n.pages, w)
		h.n.pending = append(h.n.pending, w)
	}
	return int(todo), err
}

func (h *file) Truncate(size int64) error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if _, err := h.usable(0); err != nil {
		return err
	}
	w := write{off: size}
	h.n.pages = apply(h.n.pages, w)
	h.n.pending = append(h.n.pending, w)
	return nil
}

func (h *file) Size() (int64, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.closed {
		return 0, fs.ErrClosed
	}
	return int64(len(h.n.pages)), nil
}

func (h *file) Close() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	h.closed = true
	return nil
}
