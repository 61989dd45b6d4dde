package importer

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stenohq/steno/pkg/events"
)

// named is echo with the name of the file, as every real format has it.
type named struct{ echo }

func (named) Locate(path string) (Source, error) {
	base := filepath.Base(path)
	return Source{Name: base[:len(base)-len(filepath.Ext(base))]}, nil
}

func logFile(t *testing.T, dir, name, session, id string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	line := `{"type":"a","id":"` + id + `","s":"` + session + `","t":"2026-01-01T00:00:00Z"}` + "\n" + `{"type":"b"}` + "\n"
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPlanSharedSession(t *testing.T) {
	dir := t.TempDir()
	logFile(t, dir, "a.jsonl", "S", "1")
	logFile(t, dir, "S.jsonl", "S", "2")
	logFile(t, dir, "copy/a.jsonl", "S", "1") // the same file as a.jsonl
	logFile(t, dir, "x.jsonl", "T", "1")
	logFile(t, dir, "y.jsonl", "T", "2")
	logFile(t, dir, "notes.txt", "N", "1")
	p := &Planner{Formats: []Format{named{}}, Labels: map[string]string{"host": "h"}}
	jobs, failures, err := p.Plan(t.Context(), []string{dir})
	if err != nil || len(failures) > 0 || len(jobs) != 5 {
		t.Fatalf("%d jobs, %v, %v", len(jobs), failures, err)
	}
	got := map[string]events.SessionID{}
	for _, j := range jobs {
		rel, _ := filepath.Rel(dir, j.Path)
		got[rel] = j.Published()
		if l := j.Source.Labels; l["host"] != "h" || l["path"] != j.Path {
			t.Errorf("%s has labels %v", rel, l)
		}
		if j.Source.PublishAs != "" && j.Source.PublishAs != j.Source.Session+events.SessionID("."+j.Run[:6]) {
			t.Errorf("%s publishes as %s", rel, j.Source.PublishAs)
		}
	}
	if got["S.jsonl"] != "S" || got["a.jsonl"] == "S" || got["copy/a.jsonl"] != got["a.jsonl"] {
		t.Errorf("session S: %v", got)
	}
	if got["x.jsonl"] != "T" || got["y.jsonl"] == "T" {
		t.Errorf("session T: %v", got)
	}
	for _, j := range jobs { // the run that was planned is the one that is published
		data, err := os.ReadFile(j.Path)
		if err != nil {
			t.Fatal(err)
		}
		stream := NewStream(j.Format, j.Source)
		_, _ = stream.Write(data)
		if list := stream.Events(); list[0].RunID != j.Run || list[0].Session != j.Published() {
			t.Errorf("%s: planned run %s and session %s, published %s and %s", j.Path, j.Run, j.Published(), list[0].RunID, list[0].Session)
		}
	}
	again, _, err := p.Plan(t.Context(), []string{dir})
	if err != nil || len(again) != 0 {
		t.Errorf("planned again: %v, %v", again, err)
	}
	logFile(t, dir, "z.jsonl", "T", "3")
	later, _, err := p.Plan(t.Context(), []string{dir})
	if err != nil || len(later) != 1 || later[0].Published() == "T" {
		t.Errorf("a later file: %v, %v", later, err)
	}
}

// The file whose run the log has keeps the id, also when it is not the first.
func TestPlanAsksTheLog(t *testing.T) {
	dir := t.TempDir()
	logFile(t, dir, "x.jsonl", "T", "1")
	y := logFile(t, dir, "y.jsonl", "T", "2")
	log := newMemory()
	list, _ := feed(`{"type":"a","id":"2","s":"T","t":"2026-01-01T00:00:00Z"}`, `{"type":"b"}`)
	if err := NewFeed(log).Send(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	p := &Planner{Formats: []Format{named{}}, Runs: log}
	jobs, _, err := p.Plan(t.Context(), []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if keeps := j.Published() == "T"; keeps != (j.Path == y) {
			t.Errorf("%s publishes as %s", j.Path, j.Published())
		}
	}
	alone := &Planner{Formats: []Format{named{}}, Runs: log}
	jobs, _, err = alone.Plan(t.Context(), []string{filepath.Join(dir, "x.jsonl")})
	if err != nil || len(jobs) != 1 || jobs[0].Published() == "T" {
		t.Errorf("alone: %v, %v", jobs, err)
	}
}

func TestPlanFailures(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.jsonl")
	other := filepath.Join(dir, "other.jsonl")
	for path, text := range map[string]string{empty: "", other: "{\"x\":1}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	missing := filepath.Join(dir, "missing.jsonl")
	p := &Planner{Formats: []Format{named{}}}
	jobs, failures, err := p.Plan(t.Context(), []string{empty, other, missing})
	if err != nil || len(jobs) != 0 || len(failures) != 3 {
		t.Fatalf("%v, %v, %v", jobs, failures, err)
	}
	for i, want := range []error{ErrTooShort, ErrUnrecognised, os.ErrNotExist} {
		if !errors.Is(failures[i].Err, want) {
			t.Errorf("%s: %v, want %v", failures[i].Path, failures[i].Err, want)
		}
	}
	// Looked at again when they have grown, and only then.
	if _, failures, _ = p.Plan(t.Context(), []string{empty, other}); len(failures) != 0 {
		t.Errorf("again: %v", failures)
	}
	logFile(t, dir, "empty.jsonl", "S", "1")
	logFile(t, dir, "other.jsonl", "T", "1")
	if jobs, failures, err = p.Plan(t.Context(), []string{empty, other}); err != nil || len(jobs) != 2 || len(failures) != 0 {
		t.Errorf("grown: %v, %v, %v", jobs, failures, err)
	}
	for _, path := range []string{empty, other} {
		if err := os.WriteFile(path, []byte("{\"x\":1}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, failures, _ = (&Planner{Formats: []Format{named{}}}).Plan(t.Context(), []string{dir}); len(failures) != 0 {
		t.Errorf("below a directory: %v", failures)
	}
}
