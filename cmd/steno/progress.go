package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress writes how far long work is: a line that renews itself on a
// terminal, else one line every few seconds. It says nothing in the first
// second.
type progress struct {
	w             io.Writer
	terminal      bool
	begun, told   time.Time
	total         int
	files, events int
	shown         bool
}

func newProgress(w io.Writer, total int) *progress {
	now := time.Now()
	p := &progress{w: w, begun: now, told: now, total: total}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

func (p *progress) add(files, events int) {
	p.files += files
	p.events += events
	pause := 5 * time.Second
	if p.terminal {
		pause = 200 * time.Millisecond
	}
	now := time.Now()
	if now.Sub(p.begun) < time.Second || now.Sub(p.told) < pause {
		return
	}
	p.told = now
	p.clear()
	gone := now.Sub(p.begun)
	left := "?"
	if p.files > 0 {
		left = (gone / time.Duration(p.files) * time.Duration(p.total-p.files)).Round(time.Second).String()
	}
	fmt.Fprintf(p.w, "%d of %d files, %d events, %.0f events/s, %s left", p.files, p.total, p.events, float64(p.events)/gone.Seconds(), left)
	p.shown = true
	if !p.terminal {
		fmt.Fprintln(p.w)
	}
}

// clear takes the line away before something else is written.
func (p *progress) clear() {
	if p.shown && p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	p.shown = false
}

func (p *progress) done() { p.clear() }
