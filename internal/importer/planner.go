package importer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/stenohq/steno/pkg/events"
)

// RunState is where a run stands in an agent log: the n it goes on with, the
// id of the event before that, and the run that is current there.
type RunState struct {
	Next        uint64
	LastEventID string
	Current     string
}

// Runs answers where runs stand.
type Runs interface {
	Run(ctx context.Context, session events.SessionID, agent events.AgentID, run string) (RunState, error)
}

// Job is one file to import.
type Job struct {
	Path   string
	Format Format
	Source Source
	Run    string // of the file's own agent
}

// Published is the session that the file's events go to.
func (j *Job) Published() events.SessionID {
	if j.Source.PublishAs != "" {
		return j.Source.PublishAs
	}
	return j.Source.Session
}

// Failure is a file that cannot be imported.
type Failure struct {
	Path string
	Err  error
}

// Planner finds the files of an import and settles which session each feeds:
// ids are unique only inside a file. It remembers what it has planned, so that
// files which appear later find their place.
type Planner struct {
	Formats []Format
	Session events.SessionID  // "" for the files' own
	Labels  map[string]string // of every file; path is added
	Runs    Runs              // what the logs hold already

	looked map[string]int64 // path: its size then; planned when it is a job
	owners map[owner]*Job
}

// owner is an agent log that a file feeds.
type owner struct {
	session events.SessionID
	agent   events.AgentID
}

// planned takes the place of a size.
const planned = -1

// Plan walks paths and returns the files that were not planned before, sorted
// by path. Files below a directory that are of no known format are left out;
// one that was named is a failure. A file that was left out or failed is looked
// at again when its size has changed.
func (p *Planner) Plan(ctx context.Context, paths []string) ([]*Job, []Failure, error) {
	if p.looked == nil {
		p.looked = make(map[string]int64)
		p.owners = make(map[owner]*Job)
	}
	var jobs []*Job
	var failures []Failure
	for _, path := range paths {
		err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err != nil {
				failures = append(failures, Failure{Path: file, Err: err})
				return nil //nolint:nilerr // reported; the walk goes on
			}
			named := file == path
			if entry.IsDir() || !named && filepath.Ext(file) != ".jsonl" || !p.look(file) {
				return nil
			}
			job, err := p.job(ctx, file)
			switch {
			case err == nil:
				jobs = append(jobs, job)
				p.looked[file] = planned
			case named || !errors.Is(err, ErrTooShort) && !errors.Is(err, ErrUnrecognised) && !errors.Is(err, ErrTwin):
				failures = append(failures, Failure{Path: file, Err: err})
			}
			return ctx.Err()
		})
		if err != nil {
			return nil, nil, err
		}
	}
	slices.SortStableFunc(jobs, func(a, b *Job) int { return cmp.Compare(a.Path, b.Path) })
	settled, err := p.settle(ctx, jobs)
	return settled, failures, err
}

// look says whether a file has to be looked at, and notes its size.
func (p *Planner) look(path string) bool {
	before, known := p.looked[path]
	if before == planned {
		return false
	}
	info, err := os.Stat(path)
	if err != nil {
		return true // which job will say
	}
	p.looked[path] = info.Size()
	return !known || before != info.Size()
}

// ErrTooShort is wrapped for a file that has no event yet; it may get one.
var ErrTooShort = errors.New("no complete record that names a session yet")

// ErrTwin is wrapped by Locate for a file that holds what another one beside it
// holds too.
var ErrTwin = errors.New("the same conversation stands in another file")

// job finds out what a file is: its format, session, agent and run.
func (p *Planner) job(ctx context.Context, path string) (*Job, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	format, err := Detect(path, p.Formats)
	if errors.Is(err, ErrUnrecognised) && info.Size() < headBytes && !hasNewline(path) {
		return nil, ErrTooShort
	}
	if err != nil {
		return nil, err
	}
	src, err := format.Locate(path)
	if err != nil {
		return nil, err
	}
	if p.Session != "" {
		src.Session = p.Session
	}
	labels := maps.Clone(p.Labels)
	if labels == nil {
		labels = make(map[string]string)
	}
	maps.Copy(labels, src.Labels)
	if abs, err := filepath.Abs(path); err == nil && p.Labels != nil {
		labels["path"] = abs
	}
	src.Labels = labels
	job := &Job{Path: path, Format: format, Source: src}
	if err := job.identify(); err != nil {
		return job, err
	}
	return job, p.stay(ctx, job)
}

// stay keeps a sub-agent in the session it has been imported into before its
// parent was known.
func (p *Planner) stay(ctx context.Context, j *Job) error {
	if j.Source.Alone == "" || p.Runs == nil || p.Session != "" {
		return nil
	}
	alone := *j
	alone.Source.Session, alone.Source.Spawn = j.Source.Alone, Spawn{}
	if err := alone.identify(); err != nil {
		return err
	}
	state, err := p.Runs.Run(ctx, alone.Source.Session, alone.Source.agent(), alone.Run)
	if err == nil && state.Next > 1 {
		*j = alone
	}
	return err
}

func hasNewline(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, headBytes))
	return slices.Contains(head, '\n')
}

// identify reads until the session and the run are known.
func (j *Job) identify() error {
	s := NewStream(j.Format, j.Source)
	err := eachChunk(j.Path, func(chunk []byte) bool {
		_, _ = s.Write(chunk)
		return len(s.Events()) == 0
	})
	if err != nil {
		return err
	}
	s.AtEnd()
	session := s.session()
	if session == "" || s.first == nil {
		return ErrTooShort
	}
	j.Source.Session = session
	j.Run = RunID(j.Format.Name(), session, s.src.Agent, s.first)
	return nil
}

func (s Source) agent() events.AgentID {
	if s.Agent == "" {
		return events.MainAgent
	}
	return s.Agent
}

// eachChunk reads a file until yield says stop.
func eachChunk(path string, yield func(chunk []byte) bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 256<<10)
	for {
		n, err := f.Read(buf)
		if n > 0 && !yield(buf[:n]) {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
