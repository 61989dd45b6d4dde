package natsnode

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	lockName   = "LOCK"   // locked, always empty
	holderName = "HOLDER" // who has it, for people
)

// HeldError says that another process uses the store directory.
type HeldError struct {
	Dir    string
	Holder string // e.g. "process 4711 on host a since 2026-…", or ""
}

func (e *HeldError) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "another process"
	}
	return fmt.Sprintf("directory %s is in use by %s: stop it, or choose another directory", e.Dir, holder)
}

// storeLock is an advisory lock on a directory. The kernel drops it with the
// process, so a crash leaves nothing to clean up.
type storeLock struct {
	lock   *flock.Flock
	holder string
}

func lockStore(dir string) (*storeLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the store directory: %w", err)
	}
	holder := filepath.Join(dir, holderName)
	l := flock.New(filepath.Join(dir, lockName))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the store directory: %w", err)
	}
	if !ok {
		text, _ := os.ReadFile(holder) // only names the holder
		return nil, &HeldError{Dir: dir, Holder: strings.TrimSpace(string(text))}
	}
	if err := os.WriteFile(holder, []byte(self()+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("note the holder of the store directory: %w", err)
	}
	return &storeLock{lock: l, holder: holder}, nil
}

func self() string {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	return fmt.Sprintf("process %d (%s) on %s since %s",
		os.Getpid(), filepath.Base(os.Args[0]), host, time.Now().UTC().Format(time.RFC3339))
}

// release removes the note first, while it is certain to be its own.
func (l *storeLock) release() error {
	if err := os.Remove(l.holder); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("remove the holder's note: %w", err)
	}
	if err := l.lock.Unlock(); err != nil {
		return fmt.Errorf("unlock the store directory: %w", err)
	}
	return nil
}
