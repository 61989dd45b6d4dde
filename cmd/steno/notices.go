package main

import (
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// notices is what the system tells about directories. It is a help, not a
// promise: some file systems tell nothing, and there are limits.
type notices struct {
	watcher *fsnotify.Watcher // nil when the system has none to give
	paths   chan string
	done    chan struct{}
	watched map[string]bool
}

func newNotices() *notices {
	n := &notices{paths: make(chan string), done: make(chan struct{}), watched: make(map[string]bool)}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		close(n.done)
		return n
	}
	n.watcher = watcher
	go n.pass()
	return n
}

// pass hands paths on until the watcher is closed.
func (n *notices) pass() {
	defer close(n.done)
	for {
		select {
		case e, ok := <-n.watcher.Events:
			if !ok {
				return
			}
			if e.Has(fsnotify.Chmod) {
				continue
			}
			n.paths <- filepath.Clean(e.Name)
		case _, ok := <-n.watcher.Errors: // lost notices: looking now and then makes up for them
			if !ok {
				return
			}
		}
	}
}

// changed gives the paths something happened to.
func (n *notices) changed() <-chan string { return n.paths }

// watch adds a directory; what is none is ignored.
func (n *notices) watch(dir string) {
	if n.watcher == nil || n.watched[dir] {
		return
	}
	n.watched[dir] = n.watcher.Add(dir) == nil
}

func (n *notices) close() {
	if n.watcher == nil {
		return
	}
	go func() {
		for range n.paths { // let pass see the end
		}
	}()
	_ = n.watcher.Close() // nothing is lost with it
	<-n.done
	close(n.paths)
}
