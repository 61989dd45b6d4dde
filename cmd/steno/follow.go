package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/internal/importer"
)

// How often files are looked at where the system tells nothing: those that grew
// lately, those that did not, and directories for new ones.
const (
	busyLook   = 40 * time.Millisecond
	idleLook   = time.Second
	idleAfter  = 10 * time.Second
	newFileGap = time.Second
	soonGap    = 100 * time.Millisecond // when a notice says that there may be one
)

func followCommand(cli.IO) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "follow PATH…",
		Short: "Import logs, then keep up with them as they grow",
		Long: `Import files, then publish what is appended to them, until interrupted. New files
below a directory are taken in. A file that is cut, replaced or deleted is
reported; reading goes on with what has its name.`,
		Example: `  steno follow ~/.claude/projects
  steno follow session.jsonl`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.named = cmd.Flags().Changed("session")
			return o.follow(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.flags(cmd)
	return cmd
}

func (o *importOptions) follow(ctx context.Context, paths []string, stdout, stderr io.Writer) (err error) {
	planner, err := o.planner()
	if err != nil {
		return err
	}
	log, end, err := o.writer.open(ctx, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeWithin(ctx, end)) }()
	log.wait = 0 // a gateway that is away will come back
	planner.Runs = log
	f := &follower{
		planner: planner, log: log, paths: paths, stdout: stdout, notices: newNotices(),
		byPath: make(map[string]*followed), told: make(map[string]string),
	}
	defer f.close()
	return f.run(ctx)
}

// follower keeps up with files, one after the other in one goroutine.
type follower struct {
	planner *importer.Planner
	log     *sink
	paths   []string
	stdout  io.Writer
	notices *notices
	files   []*followed
	byPath  map[string]*followed
	told    map[string]string // path: what was said last about it
}

// followed is one file.
type followed struct {
	job    *importer.Job
	tail   *importer.Tail
	stream *importer.Stream
	feed   *importer.Feed
	grew   time.Time
	look   time.Time
	errs   string // what was reported
	skips  int
}

func (f *follower) run(ctx context.Context) error {
	buf := make([]byte, 256<<10)
	tick := time.NewTicker(busyLook)
	defer tick.Stop()
	var searched time.Time
	gap := newFileGap
	for _, path := range f.paths {
		f.notices.watch(path)
	}
	for {
		now := time.Now()
		if now.Sub(searched) >= gap {
			if err := f.search(ctx, now); err != nil {
				return ended(ctx, err)
			}
			searched, gap = now, newFileGap
		}
		for _, file := range f.files {
			if now.Before(file.look) {
				continue
			}
			if err := f.read(ctx, file, buf); err != nil {
				return ended(ctx, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case path := <-f.notices.changed():
			if file := f.byPath[path]; file != nil {
				file.look = time.Time{}
			} else {
				gap = soonGap
			}
		}
	}
}

// ended is the end of a command that runs until it is interrupted.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the interruption is what ended it
	}
	return err
}

// search takes in files that are new.
func (f *follower) search(ctx context.Context, now time.Time) error {
	jobs, failures, err := f.planner.Plan(ctx, f.paths)
	if err != nil {
		return err
	}
	for _, failure := range failures {
		if errors.Is(failure.Err, importer.ErrTooShort) || errors.Is(failure.Err, fs.ErrNotExist) {
			f.say(failure.Path, "waiting for its first record")
			continue
		}
		f.say(failure.Path, "cannot follow: "+failure.Err.Error())
	}
	for _, job := range jobs {
		if err := f.log.sources.check(ctx, job); err != nil {
			if ctx.Err() != nil {
				return err
			}
			f.say(job.Path, "cannot follow: "+err.Error())
			continue
		}
		file := &followed{
			job: job, tail: importer.NewTail(job.Path), grew: now,
			stream: importer.NewStream(job.Format, job.Source), feed: importer.NewFeed(f.log),
		}
		f.files = append(f.files, file)
		f.byPath[filepath.Clean(job.Path)] = file
		f.notices.watch(filepath.Dir(job.Path))
		f.say(job.Path, fmt.Sprintf("following as session %s", job.Published()))
	}
	return nil
}

// say tells something about a path once.
func (f *follower) say(path, what string) {
	if f.told[path] == what {
		return
	}
	f.told[path] = what
	fmt.Fprintf(f.stdout, "%s: %s\n", cli.Line(path), cli.Line(what))
}

// read publishes all that a file has gained.
func (f *follower) read(ctx context.Context, file *followed, buf []byte) error {
	for {
		n, change, err := file.tail.Read(buf)
		switch {
		case err != nil:
			f.say(file.job.Path, "cannot read: "+err.Error())
			file.look = time.Now().Add(idleLook)
			return nil //nolint:nilerr // reported; it is tried again
		case change != importer.Same:
			f.changed(file, change)
			continue
		case n == 0:
			file.stream.AtEnd()
			if err := f.publish(ctx, file); err != nil {
				return err
			}
			if time.Since(file.grew) > idleAfter {
				file.look = time.Now().Add(idleLook)
			}
			return nil
		}
		file.grew = time.Now()
		_, _ = file.stream.Write(buf[:n]) // never fails
		if err := f.publish(ctx, file); err != nil {
			return err
		}
	}
}

// publish sends what a file's lines hold and tells what could not be used.
func (f *follower) publish(ctx context.Context, file *followed) error {
	list := file.stream.Events()
	if err := file.feed.Send(ctx, list); err != nil {
		return fmt.Errorf("%s: %w", file.job.Path, err)
	}
	f.findings(file)
	return nil
}

// changed begins a file again that is no longer what it was.
func (f *follower) changed(file *followed, change importer.Change) {
	switch change {
	case importer.Gone:
		f.say(file.job.Path, "deleted; waiting for a new one")
		return
	case importer.Cut:
		f.say(file.job.Path, "cut; reading it from its beginning")
	default:
		f.say(file.job.Path, "replaced; reading the new one")
	}
	file.stream = importer.NewStream(file.job.Format, file.job.Source)
	file.feed = importer.NewFeed(f.log)
	file.errs, file.skips = "", 0
}

// findings reports what is new to look at.
func (f *follower) findings(file *followed) {
	if err := file.feed.Err(); err != nil && err.Error() != file.errs {
		file.errs = err.Error()
		f.say(file.job.Path, "NOT MERGED: "+file.errs)
	}
	report := file.stream.Report()
	for ; file.skips < len(report.SkippedList); file.skips++ {
		s := report.SkippedList[file.skips]
		fmt.Fprintf(f.stdout, "%s: line %d not used: %s\n", cli.Line(file.job.Path), s.Line, cli.Line(s.Reason))
	}
}

func (f *follower) close() {
	f.notices.close()
	for _, file := range f.files {
		file.tail.Close()
	}
}
