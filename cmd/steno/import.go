package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
)

type importOptions struct {
	writer  writer
	format  string
	session string
	named   bool // a session was given
	json    bool
}

func importCommand(cli.IO) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import PATH…",
		Short: "Bring in the logs that agents keep on disk",
		Long: `Read logs of other programs and publish what they hold. Directories are walked.
Importing a file again adds what it has gained since, or nothing.

Lines that could not be used are listed at the end, and the exit code is 3.`,
		Example: `  steno import ~/.claude/projects
  steno import --format claude-code --session demo session.jsonl`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.named = cmd.Flags().Changed("session")
			return o.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object for each file")
	return cmd
}

func (o *importOptions) flags(cmd *cobra.Command) {
	o.writer.flags(cmd)
	cmd.Flags().StringVar(&o.format, "format", "auto", "one of "+formatNames())
	cmd.Flags().StringVar(&o.session, "session", "", "session id to import into, for one file")
}

// planner checks the flags.
func (o *importOptions) planner() (*importer.Planner, error) {
	chosen, err := importer.ByName(o.format, formats())
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	p := &importer.Planner{Formats: chosen, Labels: map[string]string{}}
	if o.named || o.session != "" {
		if p.Session, err = sessionArg(o.session); err != nil {
			return nil, err
		}
	}
	if host, err := os.Hostname(); err == nil {
		p.Labels["host"] = host
	}
	return p, nil
}

func (o *importOptions) run(ctx context.Context, paths []string, stdout, stderr io.Writer) (err error) {
	planner, err := o.planner()
	if err != nil {
		return err
	}
	log, end, err := o.writer.open(ctx, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeWithin(ctx, end)) }()
	planner.Runs = log
	jobs, failures, err := planner.Plan(ctx, paths)
	if err != nil {
		return err
	}
	if o.session != "" && len(jobs) > 1 {
		return cli.Usagef("--session names one session, but there are %d files", len(jobs))
	}
	im := &imports{log: log, stdout: stdout, json: o.json, progress: newProgress(stderr, len(jobs))}
	for _, job := range jobs {
		if err := im.file(ctx, job); err != nil {
			return err
		}
	}
	for _, f := range failures {
		im.failed(f.Path, f.Err)
	}
	im.progress.done()
	return im.end()
}

// closeWithin gives what was published the time to be stored, also when the
// command was interrupted, but not for ever.
func closeWithin(ctx context.Context, end func(context.Context) error) error {
	limit := time.Minute
	if ctx.Err() != nil {
		limit = 2 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return end(ctx)
}

// imports is one run of the command.
type imports struct {
	log      *sink
	stdout   io.Writer
	json     bool
	progress *progress

	files, broken   int
	added, known    int
	skipped, looked int
}

// result is what became of one file.
type result struct {
	*importer.Report
	Into  events.SessionID `json:"imported_as,omitempty"` // when not session_id
	Added int              `json:"added"`
	Known int              `json:"known"`
	// Missing events are in the log but not in the file.
	Missing uint64 `json:"missing,omitempty"`
	Error   string `json:"error,omitempty"`
}

func (im *imports) file(ctx context.Context, job *importer.Job) error {
	if err := im.log.sources.check(ctx, job); err != nil {
		if ctx.Err() != nil {
			return err
		}
		im.failed(job.Path, err)
		return nil
	}
	f, err := os.Open(job.Path)
	if err != nil {
		im.failed(job.Path, err)
		return nil
	}
	defer f.Close()
	stream := importer.NewStream(job.Format, job.Source)
	feed := importer.NewFeed(im.log)
	readErr, err := im.send(ctx, f, stream, feed)
	if err == nil {
		err = im.log.sender.Flush(ctx) // stored before it is reported
	}
	if err != nil {
		return fmt.Errorf("%s: %w", job.Path, err)
	}
	if readErr != nil {
		im.failed(job.Path, readErr)
		return nil
	}
	im.progress.add(1, 0)
	r := result{Report: stream.Report(), Into: job.Source.PublishAs, Added: feed.Added, Known: feed.Known}
	r.Path = job.Path
	r.Missing = feed.Missing()
	if err := feed.Err(); err != nil {
		r.Error = err.Error()
	}
	return im.report(r)
}

// send publishes what is in a file. An error of the file is the file's alone.
func (im *imports) send(ctx context.Context, f io.Reader, stream *importer.Stream, feed *importer.Feed) (readErr, err error) {
	buf := make([]byte, 256<<10)
	for {
		n, readErr := f.Read(buf)
		_, _ = stream.Write(buf[:n]) // never fails
		if errors.Is(readErr, io.EOF) {
			stream.AtEnd()
		}
		list := stream.Events()
		if err := feed.Send(ctx, list); err != nil {
			return nil, err
		}
		im.progress.add(0, len(list))
		if errors.Is(readErr, io.EOF) {
			return nil, nil
		}
		if readErr != nil {
			return readErr, nil
		}
	}
}

func (im *imports) report(r result) error {
	im.files++
	im.added += r.Added
	im.known += r.Known
	im.skipped += r.Skipped + len(r.Held)
	if !r.Clean() || r.Error != "" || r.Missing > 0 {
		im.looked++
	}
	if im.json {
		if err := json.NewEncoder(im.stdout).Encode(r); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		return nil
	}
	im.progress.clear()
	w := im.stdout
	session := r.Session
	if r.Into != "" {
		session = r.Into
	}
	fmt.Fprintf(w, "%s\n  session %s: %s, %s, %d added\n", cli.Line(r.Path), session, count(r.Lines, "line"), count(r.Events, "event"), r.Added)
	for _, f := range r.SkippedList {
		fmt.Fprintf(w, "  line %d not used: %s\n", f.Line, cli.Line(f.Reason))
	}
	if more := r.Skipped - len(r.SkippedList); more > 0 {
		fmt.Fprintf(w, "  … and %d more lines not used\n", more)
	}
	for _, f := range r.MendedList {
		fmt.Fprintf(w, "  line %d mended: %s\n", f.Line, cli.Line(f.Reason))
	}
	for _, f := range r.Held {
		fmt.Fprintf(w, "  line %d waits: %s\n", f.Line, cli.Line(f.Reason))
	}
	if r.Unfinished > 0 {
		fmt.Fprintf(w, "  line %d is not whole yet (%d bytes); it is read when it is\n", r.Lines+1, r.Unfinished)
	}
	if r.Missing > 0 {
		fmt.Fprintf(w, "  the log holds %d more events than this file: was it cut?\n", r.Missing)
	}
	if r.Error != "" {
		fmt.Fprintf(w, "  NOT MERGED: %s\n", cli.Line(r.Error))
	}
	return nil
}

func (im *imports) failed(path string, err error) {
	im.broken++
	if im.json {
		_ = json.NewEncoder(im.stdout).Encode(map[string]string{"path": path, "error": err.Error()}) // a string map has an encoding
		return
	}
	im.progress.clear()
	fmt.Fprintf(im.stdout, "%s\n  not imported: %s\n", cli.Line(path), cli.Line(err.Error()))
}

func (im *imports) end() error {
	if !im.json {
		fmt.Fprintf(im.stdout, "%s, %s added, %d known, %s not used\n", count(im.files, "file"), count(im.added, "event"), im.known, count(im.skipped, "line"))
	}
	switch {
	case im.files == 0 && im.broken == 0:
		return errors.New("no log of a known format found")
	case im.files == 0:
		return errors.New("nothing could be imported")
	case im.broken > 0 || im.looked > 0:
		return cli.LookAt(fmt.Sprintf("files with something to look at: %d; not imported: %d", im.looked, im.broken))
	}
	return nil
}
