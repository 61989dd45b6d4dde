// Package crashfs is a file system in memory for tests that must not lose
// anything: it fails on request and loses at a crash what a disk may lose.
//
// The model. Each file has what a reader sees (its pages) and what is on the
// disk. A write changes the pages; the disk has it after Persist. At Crash each
// write since is, by the draw of the random source, on the disk, not on it, or
// only in its first bytes; a file may have its new size with zeros where data
// is missing. A failed Persist drops the writes from those to come, while the
// pages go on showing them: a second Persist succeeds and proves nothing, as
// on Linux. Names follow the same rule by directory.
package crashfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/stenohq/steno/internal/archive/wirelog"
)

// ErrInjected is what failing calls return.
var ErrInjected = errors.New("injected failure")

// ErrKilled is returned by everything after the process was killed.
var ErrKilled = errors.New("process was killed")

// FS implements wirelog.FS.
type FS struct {
	mu   sync.Mutex
	rnd  *rand.Rand
	disk *disk
	life int // counts crashes and kills: handles of a former life are dead

	capacity int64 // bytes; 0 = no limit
	syncs    int   // fail the next so many
	killIn   int64 // bytes or steps until the process dies; 0 = never
	dead     bool
}

// disk is what outlives a process.
type disk struct {
	names map[string]*inode // as seen
	kept  map[string]*inode // as on the disk
	moves []move            // that are not on the disk, oldest first
	dirs  map[string]bool
}

// move is a change of names: a creation (from ""), a removal (to "") or a
// rename, which is whole or not at all.
type move struct {
	from, to string
	n        *inode
}

func (m move) apply(names map[string]*inode) {
	if m.from != "" {
		delete(names, m.from)
	}
	if m.to != "" {
		names[m.to] = m.n
	}
}

func (m move) in(dir string) bool {
	return m.from != "" && path.Dir(m.from) == dir || m.to != "" && path.Dir(m.to) == dir
}

// rename makes a move visible.
func (d *disk) rename(from, to string, n *inode) {
	m := move{from, to, n}
	m.apply(d.names)
	d.moves = append(d.moves, m)
}

type inode struct {
	pages   []byte
	stable  []byte
	pending []write // since the last sync, oldest first
}

// write is a change that is not on the disk; data nil: truncation to off.
type write struct {
	off  int64
	data []byte
}

// New returns an empty file system. seed decides what crashes lose.
func New(seed uint64) *FS {
	return &FS{
		rnd:  rand.New(rand.NewPCG(seed, 1)),
		disk: &disk{names: map[string]*inode{}, kept: map[string]*inode{}, dirs: map[string]bool{".": true}},
	}
}

// SetCapacity bounds the bytes of all files; 0 lifts the bound.
func (f *FS) SetCapacity(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.capacity = n
}

// FailSyncs makes the next n calls of Persist fail.
func (f *FS) FailSyncs(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.syncs = n
}

// KillIn kills the process when n more bytes or steps have been written: the
// write it falls into is torn. Every call fails until Crash or Restart.
func (f *FS) KillIn(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.killIn = n
}

// Dead tells whether the process was killed.
func (f *FS) Dead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// Restart begins a new process on the same running machine: its pages stay.
func (f *FS) Restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.life++
	f.dead, f.killIn = false, 0
}

// Crash cuts the power and begins anew with what the disk has.
func (f *FS) Crash() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.life++
	f.dead, f.killIn = false, 0
	for _, m := range f.disk.moves {
		if f.rnd.IntN(2) == 0 {
			m.apply(f.disk.kept)
		}
	}
	f.disk.moves = nil
	seen := map[*inode]bool{}
	f.disk.names = map[string]*inode{}
	for _, name := range sortedNames(f.disk.kept) {
		n := f.disk.kept[name]
		f.disk.names[name] = n
		if !seen[n] {
			seen[n] = true
			n.crash(f.rnd)
		}
	}
}

func (n *inode) crash(rnd *rand.Rand) {
	for _, w := range n.pending {
		switch rnd.IntN(4) {
		case 0: // lost
		case 1: // torn, perhaps with the new size and nothing in it
			keep := rnd.IntN(len(w.data) + 1)
			if w.data != nil && rnd.IntN(2) == 0 {
				n.stable = grow(n.stable, w.off+int64(len(w.data)))
			}
			if w.data != nil {
				n.stable = apply(n.stable, write{off: w.off, data: w.data[:keep]})
			}
		default:
			n.stable = apply(n.stable, w)
		}
	}
	n.pending = nil
	n.pages = slices.Clone(n.stable)
}

func apply(b []byte, w write) []byte {
	if w.data == nil {
		if w.off <= int64(len(b)) {
			return b[:w.off:w.off]
		}
		return grow(b, w.off)
	}
	if len(w.data) == 0 {
		return b
	}
	b = grow(b, w.off+int64(len(w.data)))
	copy(b[w.off:], w.data)
	return b
}

func grow(b []byte, size int64) []byte {
	if n := size - int64(len(b)); n > 0 {
		b = append(b, make([]byte, n)...)
	}
	return b
}

func sortedNames(maps ...map[string]*inode) []string {
	var names []string
	for _, m := range maps {
		for name := range m {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// step counts towards a kill; n is what the call writes. It returns how much
// of it still happens.
func (f *FS) step(n int64) (int64, error) {
	if f.dead {
		return 0, ErrKilled
	}
	if f.killIn == 0 {
		return n, nil
	}
	if f.killIn > max(n, 1) {
		f.killIn -= max(n, 1)
		return n, nil
	}
	n = min(n, f.killIn)
	f.killIn, f.dead = 0, true
	return n, ErrKilled
}

// Open implements wirelog.FS.
func (f *FS) Open(name string, create bool) (wirelog.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.step(0); err != nil {
		return nil, err
	}
	n := f.disk.names[name]
	if n == nil {
		if !create || !f.disk.dirs[path.Dir(name)] {
			return nil, fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
		}
		n = &inode{}
		f.disk.rename("", name, n)
	}
	return &file{fs: f, n: n, life: f.life}, nil
}

// OpenRead implements wirelog.ReadFS.
func (f *FS) OpenRead(name string) (wirelog.ReadFile, error) { return f.Open(name, false) }

// MkdirAll implements wirelog.FS. Directories survive crashes: losing an empty
// one loses nothing.
func (f *FS) MkdirAll(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.step(0); err != nil {
		return err
	}
	for ; name != "."; name = path.Dir(name) {
		f.disk.dirs[name] = true
	}
	return nil
}

// ReadDir implements wirelog.ReadFS.
func (f *FS) ReadDir(name string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.disk.dirs[name] {
		return nil, fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
	}
	var names []string
	for dir := range f.disk.dirs {
		if dir != name && path.Dir(dir) == name {
			names = append(names, path.Base(dir))
		}
	}
	for file := range f.disk.names {
		if path.Dir(file) == name {
			names = append(names, path.Base(file))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Rename implements wirelog.FS.
func (f *FS) Rename(oldName, newName string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.step(0); err != nil {
		return err
	}
	n := f.disk.names[oldName]
	if n == nil {
		return fmt.Errorf("rename %s: %w", oldName, fs.ErrNotExist)
	}
	f.disk.rename(oldName, newName, n)
	return nil
}

// Remove implements wirelog.FS.
func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.step(0); err != nil {
		return err
	}
	f.disk.rename(name, "", nil)
	return nil
}

// Persist implements wirelog.FS.
func (f *FS) Persist(files []wirelog.File, dirs []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.step(0); err != nil {
		return err
	}
	failed := f.syncs > 0
	if failed {
		f.syncs--
	}
	for _, h := range files {
		n := h.(*file).n
		if !failed {
			for _, w := range n.pending {
				n.stable = apply(n.stable, w)
			}
		}
		n.pending = nil
	}
	if failed {
		return fmt.Errorf("sync: %w", ErrInjected)
	}
	f.disk.moves = slices.DeleteFunc(f.disk.moves, func(m move) bool {
		synced := slices.ContainsFunc(dirs, m.in)
		if synced {
			m.apply(f.disk.kept)
		}
		return synced
	})
	return nil
}

// Lock implements wirelog.FS: tests open one Dir at a time.
func (f *FS) Lock() (io.Closer, error) { return io.NopCloser(strings.NewReader("")), nil }

// Bytes returns what a reader sees of a file, nil when there is none.
func (f *FS) Bytes(name string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.disk.names[name]
	if n == nil {
		return nil
	}
	return slices.Clone(n.pages)
}

// SetBytes replaces a file on the disk, as damage does.
func (f *FS) SetBytes(name string, b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		f.disk.dirs[dir] = true
	}
	n := &inode{pages: slices.Clone(b), stable: slices.Clone(b)}
	f.disk.names[name], f.disk.kept[name] = n, n
}

// Delete removes a file from the disk, as damage does.
func (f *FS) Delete(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.disk.names, name)
	delete(f.disk.kept, name)
}

// Names lists all files.
func (f *FS) Names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return sortedNames(f.disk.names)
}

func (f *FS) used() int64 {
	var sum int64
	for _, n := range f.disk.names {
		sum += int64(len(n.pages))
	}
	return sum
}
