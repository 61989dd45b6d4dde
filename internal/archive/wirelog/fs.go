package wirelog

import "io"

// ReadFS is what readers need of a file system: one directory tree, names
// relative to its root with forward slashes. Methods may be called
// concurrently; errors wrap those of package io/fs.
type ReadFS interface {
	OpenRead(name string) (ReadFile, error)
	// ReadDir lists the names in a directory, sorted.
	ReadDir(name string) ([]string, error)
}

// ReadFile is a file open for reading.
type ReadFile interface {
	io.ReaderAt
	io.Closer
	Size() (int64, error)
}

// FS is what a Dir needs of a file system. Errors also wrap ErrDiskFull.
type FS interface {
	ReadFS
	// Open opens a file for reading and writing; with create it is made, mode
	// 0600, when it does not exist.
	Open(name string, create bool) (File, error)
	// MkdirAll makes a directory and its parents, mode 0700.
	MkdirAll(name string) error
	// Rename replaces newName atomically.
	Rename(oldName, newName string) error
	Remove(name string) error
	// Persist makes durable what was written to the files and which names are
	// in the directories. After an error none of it may be taken as durable
	// and calling it again proves nothing: the pages may have been dropped.
	Persist(files []File, dirs []string) error
	// Lock keeps other processes from writing this tree. ErrLocked.
	Lock() (io.Closer, error)
}

// File is an open file. WriteAt and Truncate must not overlap with each other.
type File interface {
	ReadFile
	io.WriterAt
	Truncate(size int64) error
}
