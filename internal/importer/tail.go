package importer

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Change is what happened to a file since it was read last.
type Change int

// The changes. After Cut and Replaced the file is read from its beginning.
const (
	Same     Change = iota
	Cut             // it is shorter than what was read
	Replaced        // another file has its name
	Gone            // nothing has its name
)

// Tail reads a file that grows. It is used by one goroutine, which closes it.
type Tail struct {
	path string
	f    *os.File
	at   int64
	gone bool
}

// NewTail follows the file of that name, which need not exist yet.
func NewTail(path string) *Tail { return &Tail{path: path} }

// Read fills buf with what follows and says what happened to the file. n is 0
// when there is nothing new. A change is told once, with n 0: the next Read
// begins the file again.
func (t *Tail) Read(buf []byte) (n int, change Change, err error) {
	if t.f == nil {
		return 0, Same, t.open()
	}
	n, err = t.f.ReadAt(buf, t.at)
	t.at += int64(n)
	if n > 0 {
		return n, Same, nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, Same, err
	}
	return 0, t.check(), nil
}

func (t *Tail) open() error {
	f, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	t.f, t.at, t.gone = f, 0, false
	return nil
}

// check looks whether the name still means the file that is open, and whether
// that was cut. What had been written to a file before it was replaced has
// been read by then.
func (t *Tail) check() Change {
	open, err := t.f.Stat()
	if err == nil && open.Size() < t.at {
		t.at = 0
		return Cut
	}
	named, err := os.Stat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if t.gone {
			return Same
		}
		t.gone = true
		return Gone
	case err == nil && !os.SameFile(open, named):
		t.Close()
		return Replaced
	}
	t.gone = false
	return Same
}

// Close ends the reading; a later Read opens the file again.
func (t *Tail) Close() {
	if t.f != nil {
		_ = t.f.Close() // only read
		t.f = nil
	}
}
